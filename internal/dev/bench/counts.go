package main

import (
	"bufio"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"callgate/internal/dev/bench/load"
)

// The cost of a call, whatever else the machine does: system calls, wake-ups and processor time of the proxy alone.

// relay is a proxy whose work is counted.
type relay struct {
	name string
	pid  int
	caller
}

// counted is the cost of one call for a relay.
type counted struct {
	cpu     float64            // µs
	wakeups float64            // of the relay's threads
	system  map[string]float64 // system calls by name
}

// benchCounts prints the cost of calls. It does nothing if strace is not installed.
func benchCounts(o options, dir string, out, progress io.Writer) error {
	if _, err := exec.LookPath("strace"); err != nil {
		fmt.Fprintln(progress, "no strace: nothing is counted")
		return nil
	}
	relays, end, err := startRelays(o, dir)
	if err == nil {
		err = countKinds(relays, o, dir, out, progress)
	}
	return errors.Join(err, end())
}

func countKinds(relays []*relay, o options, dir string, out, progress io.Writer) error {
	for _, kind := range []struct {
		title, text string
		width       int
	}{
		{"Small", smallText, 1},
		{fmt.Sprintf("Small, %d in flight", o.inflight), smallText, o.inflight},
		{fmt.Sprintf("%d KiB of prose", o.large), prose(o.large << 10), 1},
		{fmt.Sprintf("%d KiB of base64", o.large), noise(o.large << 10), 1},
	} {
		fmt.Fprintln(progress, "counting:", kind.title)
		n := o.calls
		if len(kind.text) > len(smallText) {
			n = max(1, n/fewer)
		}
		costs := make([]counted, len(relays))
		for i, r := range relays {
			if _, _, err := r.calls(n, kind.width, kind.text); err != nil { // caches fill, heaps grow: not counted
				return fmt.Errorf("%s: %w", r.name, err)
			}
			costs[i].system = map[string]float64{}
		}
		for range o.rounds {
			for i, r := range relays {
				if err := r.measure(&costs[i], n, n*o.rounds, kind.width, kind.text); err != nil {
					return fmt.Errorf("%s: %w", r.name, err)
				}
			}
		}
		for i, r := range relays {
			if err := r.trace(costs[i].system, n, kind.width, kind.text, filepath.Join(dir, "strace")); err != nil {
				return fmt.Errorf("%s: %w", r.name, err)
			}
		}
		if err := reportCounts(out, kind.title, relays, costs); err != nil {
			return err
		}
	}
	return nil
}

// measure makes n of all calls, and adds their share to c.
func (r *relay) measure(c *counted, n, all, width int, text string) error {
	cpu, _ := load.CPUOf(r.pid)
	wakeups, _ := load.WakeupsOf(r.pid)
	if _, _, err := r.calls(n, width, text); err != nil {
		return err
	}
	cpuAfter, toldCPU := load.CPUOf(r.pid)
	wakeupsAfter, toldWakeups := load.WakeupsOf(r.pid)
	if !toldCPU || !toldWakeups {
		return errors.New("the system does not tell what a process took")
	}
	c.cpu += micros(cpuAfter-cpu) / float64(all)
	c.wakeups += float64(wakeupsAfter-wakeups) / float64(all)
	return nil
}

// trace makes n calls while strace counts the system calls.
func (r *relay) trace(system map[string]float64, n, width int, text, file string) error {
	cmd := exec.Command("strace", "-f", "-c", "-U", "calls,name", "-o", file, "-p", strconv.Itoa(r.pid))
	said, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	lines := bufio.NewReader(said)
	_, err = lines.ReadString('\n') // strace says that it is attached
	drained := make(chan error, 1)
	go func() {
		_, err := io.Copy(io.Discard, lines)
		drained <- err
	}()
	time.Sleep(200 * time.Millisecond)
	if err == nil {
		_, _, err = r.calls(n, width, text)
	}
	err = errors.Join(err, cmd.Process.Signal(syscall.SIGINT), <-drained)
	var exit *exec.ExitError
	if waitErr := cmd.Wait(); !errors.As(waitErr, &exit) {
		err = errors.Join(err, waitErr)
	}
	if err != nil {
		return err
	}
	counts, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(counts)) {
		fields := strings.Fields(line)
		if len(fields) != 2 || fields[1] == "total" {
			continue
		}
		if count, err := strconv.ParseFloat(fields[0], 64); err == nil {
			system[fields[1]] = count / float64(n)
		}
	}
	return nil
}

// startRelays starts the proxies, two over stdio and two over HTTP. The caller MUST call end, even after an error.
func startRelays(o options, dir string) (relays []*relay, end func() error, err error) {
	var ends []func() error
	end = func() error {
		var err error
		for _, one := range slices.Backward(ends) {
			err = errors.Join(err, one())
		}
		return err
	}
	targets, err := findTargets(o.bin, dir)
	if err != nil {
		return nil, end, err
	}
	for _, t := range targets[1:min(3, len(targets))] { // floor and wrap
		if t.reset != nil {
			if err := t.reset(); err != nil {
				return nil, end, err
			}
		}
		c, err := load.Start(t.command)
		if err != nil {
			return nil, end, err
		}
		ends = append(ends, c.Close)
		relays = append(relays, &relay{t.name, c.PID(), stdioCaller{c}})
	}
	echo, err := program(o.bin, "echo")
	if err != nil {
		return nil, end, err
	}
	server, endServer, err := startHTTP(echo, "-http")
	if err != nil {
		return nil, end, err
	}
	ends = append(ends, endServer)
	floor, err := program(o.bin, "floor")
	if err != nil {
		return nil, end, err
	}
	pid, url, endFloor, err := launchHTTP(floor, "-http", server)
	if err != nil {
		return nil, end, err
	}
	ends = append(ends, endFloor)
	reverse := &wayHTTP{url: url, tool: "echo", client: newCrowd().client}
	relays = append(relays, &relay{"reverse proxy", pid, reverse})
	if err := reverse.connect(); err != nil || len(targets) == 2 {
		return relays, end, err
	}
	callgate, err := program(o.bin, "callgate")
	if err != nil {
		return nil, end, err
	}
	pids, addresses, endServe, err := (&crowding{server: byURL}).startOne(site{program: callgate, dir: dir, url: server})
	if err != nil {
		return nil, end, err
	}
	ends = append(ends, endServe)
	h := newCrowd(addresses...)
	if err := h.wait(); err != nil {
		return nil, end, err
	}
	err = h.join(1, false)
	return append(relays, &relay{"callgate serve", pids[0], h.ways[0]}), end, err
}

func reportCounts(out io.Writer, title string, relays []*relay, costs []counted) error {
	var b strings.Builder
	line := func(title, format string, cell func(counted) float64) {
		fmt.Fprintf(&b, "| %s |", title)
		for _, c := range costs {
			fmt.Fprintf(&b, " "+format+" |", cell(c))
		}
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "\n%s, for each call:\n\n| |", title)
	for _, r := range relays {
		fmt.Fprintf(&b, " %s |", r.name)
	}
	b.WriteString("\n|---|" + strings.Repeat("---:|", len(relays)) + "\n")
	line("processor time, µs", "%.0f", func(c counted) float64 { return c.cpu })
	line("wake-ups", "%.2f", func(c counted) float64 { return c.wakeups })
	sum := func(c counted) (sum float64) {
		for _, n := range c.system {
			sum += n
		}
		return sum
	}
	line("system calls", "%.2f", sum)
	names := map[string]bool{}
	for _, c := range costs {
		for name, n := range c.system {
			if n >= .01 {
				names[name] = true
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		line("… "+name, "%.2f", func(c counted) float64 { return c.system[name] })
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// words is the vocabulary of prose.
var words = strings.Fields(`the of and a to in is it that was for on are with as his they be at one have this from or had by
hot but some what there we can out other were all your when up use word how said an each she which do their time if will
way about many then them would write like so these her long make thing see him two has look more day could go come did
my sound no most number who over know water than call first people may down side been now find any new work part take get
place made live where after back little only round man year came show every good me give our under name very through just
form much great think say help low line before turn cause same mean differ move right boy old too does tell sentence set
three want air well also play small end put home read hand port large spell add even land here must big high such follow`)

// prose returns size bytes of text like people's.
func prose(size int) string {
	random := rand.New(rand.NewPCG(1, 2))
	var b strings.Builder
	for b.Len() < size {
		for i := range 6 + random.IntN(12) {
			word := words[random.IntN(len(words))]
			if i == 0 {
				word = strings.ToUpper(word[:1]) + word[1:]
			} else {
				b.WriteByte(' ')
			}
			b.WriteString(word)
		}
		b.WriteString(". ")
	}
	return b.String()[:size]
}

// noise returns size bytes of meaningless text.
func noise(size int) string {
	random := rand.NewChaCha8([32]byte{1})
	bytes := make([]byte, size)
	_, _ = random.Read(bytes) // never fails
	return base64.StdEncoding.EncodeToString(bytes)[:size]
}
