package main

import (
	"bytes"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"callgate/internal/dev/bench/load"
	"callgate/internal/testserver/built"
	"callgate/internal/testserver/unraced"
)

// The measured programs.
const (
	echo     = "callgate/internal/dev/bench/echo"
	floor    = "callgate/internal/dev/bench/floor"
	callgate = "callgate/cmd/callgate"
)

// withPrograms returns a folder with the programs of these packages.
func withPrograms(t *testing.T, packages ...string) string {
	t.Helper()
	bin := t.TempDir()
	if err := built.Programs(bin, packages...); err != nil {
		t.Fatal(err)
	}
	return bin
}

// made returns a target whose calls took p50 microseconds in each of the rounds.
func made(name string, p50 ...int) *target {
	t := &target{name: name}
	for _, us := range p50 {
		d := time.Duration(us) * time.Microsecond
		t.rounds = append(t.rounds, figures{
			small: load.Latencies{d, d, d}, large: load.Latencies{10 * d}, busy: load.Latencies{d},
			coldList: 1000 * d, warmList: 100 * d,
			smallRate: rate{100, 100 * d}, largeRate: rate{10, 100 * d},
			memory: true, idle: 1 << 20, peak: int64(us) << 20,
		})
	}
	return t
}

func TestMetrics(t *testing.T) {
	direct, floor, own := made("direct", 50, 60, 55), made("floor", 90, 80, 95), made("own", 100, 101, 120)
	for _, test := range []struct {
		name   string
		metric metric
		want   value
	}{
		{"as it is", metric{read: smallP50}, value{100, 101}},
		{"the highest is the best", metric{read: smallRate, high: true}, value{1e6 / 100, 1e6 / 101.}},
		// best: (100-50)/(80-50); rounds: 50/40, 41/20, 65/40
		{"ratio of what is added", smallRatio, value{50. / 30, 65. / 40}},
		{"ratio of rates", busyRatio, value{80. / 100, 80. / 101}},
		{"added to a first start", coldAdded, value{50, 50}},
	} {
		got := test.metric.over(own, direct, floor)
		if math.Abs(got.best-test.want.best) > 1e-9 || math.Abs(got.median-test.want.median) > 1e-9 {
			t.Errorf("%s: %+v, want %+v", test.name, got, test.want)
		}
	}
}

func TestReport(t *testing.T) {
	targets := []*target{made("direct", 50), made("floor", 90), made("own", 100)}
	var out strings.Builder
	if err := report(&out, targets, options{rounds: 1, calls: 1, inflight: 16, large: 100}); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"| | direct | floor | own |",
		"|---|---:|---:|---:|",
		"| call, p50, µs | 50 / 50 | 90 / 90 | 100 / 100 |",
		"| … added, floor = 1 | 0.00 / 0.00 | 1.00 / 1.00 | 1.25 / 1.25 |",
		"- own: added to a small call at most 1.3 times what the floor adds: met (1.25 / 1.25)",
		"- own: at most 30 ms more to tools/list on the first start: missed (50.0 / 50.0)",
		"- own: less than 30 MiB at the peak: missed (100.0 / 100.0)",
	} {
		if !strings.Contains(out.String(), line+"\n") {
			t.Errorf("report lacks %q", line)
		}
	}

	targets[2].rounds[0].memory = false
	out.Reset()
	if err := report(&out, targets, options{}); err != nil {
		t.Fatal(err)
	}
	if want := "| memory, peak, MiB | 50.0 / 50.0 | 90.0 / 90.0 | – |\n"; !strings.Contains(out.String(), want) {
		t.Errorf("memory that is not known is shown:\n%s", out.String())
	}
	if !strings.Contains(out.String(), "less than 30 MiB at the peak: missed (–)") {
		t.Error("memory that is not known meets its goal")
	}
}

// A whole run, as small as possible, of the programs that do not need callgate.
func TestRun(t *testing.T) {
	bin := withPrograms(t, echo, floor)
	var out bytes.Buffer
	o := options{bin: bin, rounds: 2, calls: 10, starts: 1, inflight: 4, large: 64, most: 10, records: 500, crowd: smallCrowd}
	if err := run(o, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "| | direct | floor |\n") || strings.Contains(out.String(), "NaN") ||
		!strings.Contains(out.String(), "callgate was not measured") {
		t.Errorf("report:\n%s", out.String())
	}
	o.rounds = 0
	if err := run(o, &out, io.Discard); err == nil {
		t.Error("ran no round")
	}
	o.rounds, o.bin = 1, t.TempDir()
	if err := run(o, &out, io.Discard); err == nil {
		t.Error("ran without programs")
	}
}

var smallCrowd = crowd{pending: 5, clients: 2, calls: 40, asks: 10, lasts: 500 * time.Millisecond}

// A small crowd approves calls of a real callgate.
func TestApprovals(t *testing.T) {
	bin := withPrograms(t, echo, callgate)
	callgate, err := program(bin, "callgate")
	if err != nil {
		t.Fatal(err)
	}
	echo, err := program(bin, "echo")
	if err != nil {
		t.Fatal(err)
	}
	a, err := measureApprovals(callgate, echo, t.TempDir(), smallCrowd)
	if err != nil {
		t.Fatal(err)
	}
	if len(a.passed) == 0 || len(a.shown) < len(a.passed) || a.calls == 0 || a.frames == 0 || a.lost != 0 {
		t.Errorf("%d approved, %d shown, %d allowed, %d frames, %d cut off", len(a.passed), len(a.shown), a.calls, a.frames, a.lost)
	}
	var out bytes.Buffer
	if err := a.report(&out, smallCrowd); err != nil || !strings.Contains(out.String(), "| approval sent → call at the server, ms |") || strings.Contains(out.String(), "NaN") {
		t.Errorf("%v\n%s", err, &out)
	}
	if err := run(options{bin: bin, rounds: 1}, io.Discard, io.Discard); err == nil {
		t.Error("ran without a crowd")
	}
}

// A small run of a real callgate without peers: the report names the missing ones, and how to install them.
func TestPeers(t *testing.T) {
	if unraced.Elsewhere(t) {
		return
	}
	bin := withPrograms(t, echo, floor, callgate)
	var out bytes.Buffer
	o := options{bin: bin, rounds: 1, calls: 10, starts: 1, inflight: 4, large: 64, only: "peers", peers: t.TempDir(), most: 10, records: 1, crowd: smallCrowd}
	if err := run(o, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	for _, s := range setups {
		if !strings.Contains(out.String(), "\nOver "+s.title+"; direct is "+s.direct+".\n") {
			t.Errorf("no table for %s", s.title)
		}
	}
	if strings.Count(out.String(), "\n| callgate | ") != len(setups) || strings.Contains(out.String(), "NaN") || strings.Contains(out.String(), "| 0 |\n") {
		t.Errorf("report:\n%s", out.String())
	}
	for _, p := range peers {
		if !strings.Contains(out.String(), p.name+" "+p.version) {
			t.Errorf("%s is skipped without a word", p.name)
		}
	}
	if !strings.Contains(out.String(), "make bench-peers") {
		t.Error("nothing says how to install the others")
	}
}

// A few sessions of a real callgate, which need no time to settle: every kind has its figures.
func TestSessions(t *testing.T) {
	bin := withPrograms(t, echo, floor, callgate)
	var out bytes.Buffer
	o := options{bin: bin, rounds: 1, calls: 200, starts: 1, inflight: 4, large: 64, only: "sessions", sessions: 30, most: 10, records: 1, settle: time.Millisecond, crowd: smallCrowd}
	if err := run(o, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	if strings.Count(out.String(), "| 30 |") != 2 || strings.Count(out.String(), "| 3 |") != 1 || strings.Contains(out.String(), "| 0 |") {
		t.Errorf("report:\n%s", out.String())
	}
	o.sessions = 9501
	if err := run(o, &out, io.Discard); err == nil {
		t.Error("more sessions than callgate lets in")
	}
	o.sessions, o.only = 30, "replicas"
	out.Reset()
	if err := run(o, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	if strings.Count(out.String(), "| 30 |") != 1 || strings.Contains(out.String(), "| 0 |") || strings.Contains(out.String(), "takes 0") {
		t.Errorf("report:\n%s", out.String())
	}
}

// callgate is compared with the fastest peer, and a peer that refuses a text has no figures for it.
func TestPeersReport(t *testing.T) {
	stood := func(name string, p peer, us int) *standing {
		d := time.Duration(us) * time.Microsecond
		c := &standing{candidate: candidate{name: name, peer: p}, small: load.Latencies{d}, large: load.Latencies{10 * d}, rates: map[int]*rate{}}
		for _, n := range widths {
			c.rates[n] = &rate{100, 100 * d}
		}
		return c
	}
	refusing := stood("slow 1", peer{name: "slow"}, 500)
	refusing.tooLarge = errors.New("413")
	var out strings.Builder
	all := []*standing{stood(direct, peer{}, 50), stood(own, peer{}, 100), refusing, stood("quick 2", peer{name: "quick"}, 250)}
	if err := setups[0].report(&out, all, nil, options{large: 100}); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"| callgate | 100 | 50 | 1000 | 500 | 10000 | 10000 | 10000 |",
		"| slow 1 | 500 | 450 | refused | – | 2000 | 2000 | 2000 |",
		"- adds at most half of what the fastest of the others adds, quick 2: met (0.25)",
	} {
		if !strings.Contains(out.String(), line+"\n") {
			t.Errorf("the report lacks %q:\n%s", line, out.String())
		}
	}
	if strings.Contains(out.String(), "not installed") {
		t.Error("somebody is missed")
	}
}

func TestCallgateTargets(t *testing.T) {
	bin, dir := t.TempDir(), t.TempDir()
	for _, name := range []string{"echo", "floor", "callgate"} {
		if runtime.GOOS == "windows" {
			name += ".exe"
		}
		if err := os.WriteFile(filepath.Join(bin, name), nil, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	targets, err := findTargets(bin, dir)
	if err != nil || len(targets) != 4 {
		t.Fatalf("%d targets, %v", len(targets), err)
	}
	for _, target := range targets[2:] {
		if err := target.reset(); err != nil {
			t.Fatal(err)
		}
	}
	for _, data := range []string{"wrap", "run"} {
		rules, err := os.ReadFile(filepath.Join(dir, data, "workers", "default", "permissions.jsonc"))
		if err != nil || string(rules) != allowAll {
			t.Errorf("rules of %s: %q, %v", data, rules, err)
		}
	}
	stale := filepath.Join(dir, "run", "cache")
	if err := os.WriteFile(stale, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := targets[3].reset(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(stale); !os.IsNotExist(err) {
		t.Errorf("a reset keeps state: %v", err)
	}
}

// Both texts have the right length, and need no escaping in JSON lines.
func TestCountedTexts(t *testing.T) {
	for _, text := range []string{prose(5000), noise(5000)} {
		if len(text) != 5000 || strings.ContainsAny(text, "\"\\\n") {
			t.Errorf("%d bytes: %.80q", len(text), text)
		}
	}
}
