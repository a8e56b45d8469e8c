package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/pprof/profile"
)

// parts divides the processor time of a call by functions: a sample belongs to the first part with a function in its
// stack. The rest is the relay itself.
var parts = []struct {
	title     string
	functions []string
}{
	{"collecting garbage", []string{"runtime.gcBgMarkWorker", "runtime.bgsweep", "runtime.gcAssistAlloc"}},
	{"judging", []string{"callgate/gate.judging.judge"}},
	{"the record", []string{"callgate/gate.(*journal).record"}},
	{"learning from the result", []string{"callgate/gate.(*Gate).Finish"}},
	{"to the server and back", []string{"callgate/proxy.(*toolCall).forward"}},
	{"from the host and back", []string{"callgate/internal/endpoint.(*Server).read", "callgate/internal/endpoint.(*response).", "net/http.(*conn).readRequest", "net/http.(*response).finishRequest"}},
	{"everything else", []string{""}},
}

// divided is the processor time of one kind of call, by part.
type divided struct {
	title  string
	micros []float64
}

func (d *divided) total() (sum float64) {
	for _, m := range d.micros {
		sum += m
	}
	return sum
}

// benchParts serves calls with callgate-profile, which is callgate with the build tag profile, and prints where the
// processor time went. It does nothing if that program is missing.
func benchParts(o options, dir string, out, progress io.Writer) error {
	callgate, err := program(o.bin, "callgate-profile")
	if errors.Is(err, os.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	fmt.Fprintln(progress, "where the time goes")
	kinds := []*divided{{title: "small"}, {title: fmt.Sprintf("%d KiB", o.large)}}
	for i, text := range []string{smallText, strings.Repeat("0123456789abcdef", o.large<<10/16)} {
		calls := 5 * o.calls
		if i > 0 {
			calls = max(1, o.calls/2)
		}
		file := filepath.Join(dir, fmt.Sprintf("profile-%d", i))
		if err := profiled(callgate, o, filepath.Join(dir, fmt.Sprintf("parts-%d", i)), file, calls, text); err != nil {
			return err
		}
		if err := kinds[i].read(file, calls); err != nil {
			return err
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\nProcessor time of callgate for a call over HTTP, in µs:\n\n| | %s | %s |\n|---|---:|---:|\n", kinds[0].title, kinds[1].title)
	for i, part := range parts {
		fmt.Fprintf(&b, "| %s | %.0f | %.0f |\n", part.title, kinds[0].micros[i], kinds[1].micros[i])
	}
	if _, err := io.WriteString(out, b.String()); err != nil || o.plots == "" {
		return err
	}
	return plotParts(filepath.Join(o.plots, "performance-parts.svg"), kinds)
}

// profiled makes calls through a callgate that writes its profile to file.
func profiled(callgate string, o options, dir, file string, calls int, text string) (err error) {
	echo, err := program(o.bin, "echo")
	if err != nil {
		return err
	}
	server, endServer, err := startHTTP(echo, "-http")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, endServer()) }()
	if err := os.Setenv("CALLGATE_CPUPROFILE", file); err != nil {
		return err
	}
	defer os.Unsetenv("CALLGATE_CPUPROFILE")
	address, end, err := serveHTTP(callgate, dir, server)
	if err != nil {
		return err
	}
	w := &wayHTTP{url: "http://" + address + "/mcp", tool: "bench_echo", client: newCrowd().client}
	if err = w.connect(); err == nil {
		_, _, err = w.calls(calls, 1, text)
	}
	if err == nil {
		err = stopProfile(file)
	}
	return errors.Join(err, end())
}

// stopProfile makes callgate write its profile, and waits for it.
func stopProfile(file string) error {
	stop := file + ".stop"
	if err := os.WriteFile(stop, nil, 0o600); err != nil {
		return err
	}
	for deadline := time.Now().Add(startLimit); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if _, err := os.Stat(stop); errors.Is(err, os.ErrNotExist) {
			return nil
		}
	}
	return errors.New("no profile came")
}

// read divides a profile among the parts.
func (d *divided) read(file string, calls int) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	p, err := profile.Parse(f)
	if err != nil {
		return err
	}
	d.micros = make([]float64, len(parts))
	for _, s := range p.Sample {
		cpu := time.Duration(s.Value[len(s.Value)-1])
		d.micros[partOf(s)] += float64(cpu) / float64(time.Microsecond) / float64(calls)
	}
	return nil
}

// partOf returns the index of the part that a sample belongs to.
func partOf(s *profile.Sample) int {
	for i, part := range parts {
		for _, l := range s.Location {
			for _, line := range l.Line {
				for _, name := range part.functions {
					if strings.HasPrefix(line.Function.Name, name) {
						return i
					}
				}
			}
		}
	}
	return len(parts) - 1
}
