package main

import (
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"strings"
	"time"
)

// metric is one row of the table.
type metric struct {
	title  string
	format string
	high   bool                  // the best is the highest, not the lowest
	read   func(figures) float64 // NaN if there is no value
	// compare relates a target's value to those of direct and floor; nil shows the value as it is.
	compare func(own, direct, floor float64) float64
}

// value is a metric over all rounds. The best of a comparison compares the best values of the targets. Its median is
// the median of the comparisons in single rounds.
type value struct{ best, median float64 }

func (m metric) over(t, direct, floor *target) value {
	own, d, f := m.readAll(t), m.readAll(direct), m.readAll(floor)
	if m.compare == nil {
		return value{m.best(own), median(own)}
	}
	rounds := make([]float64, len(own))
	for i := range own {
		rounds[i] = m.compare(own[i], d[i], f[i])
	}
	return value{m.compare(m.best(own), m.best(d), m.best(f)), median(rounds)}
}

func (m metric) readAll(t *target) []float64 {
	all := make([]float64, len(t.rounds))
	for i, round := range t.rounds {
		all[i] = m.read(round)
	}
	return all
}

func (m metric) best(all []float64) float64 {
	if m.high {
		return slices.Max(all)
	}
	return slices.Min(all)
}

func median(all []float64) float64 { return slices.Sorted(slices.Values(all))[len(all)/2] }

func (m metric) cell(v value) string {
	if math.IsNaN(v.best) || math.IsNaN(v.median) {
		return "–"
	}
	return fmt.Sprintf(m.format+" / "+m.format, v.best, v.median)
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// mib returns bytes in MiB; NaN if the system did not report them.
func mib(bytes int64, told bool) float64 {
	if !told {
		return math.NaN()
	}
	return float64(bytes) / (1 << 20)
}

func added(own, direct, _ float64) float64          { return own - direct }
func overFloor(own, _, floor float64) float64       { return own / floor }
func addedRatio(own, direct, floor float64) float64 { return (own - direct) / (floor - direct) }

func smallP50(f figures) float64  { return micros(f.small.Quantile(.5)) }
func largeP50(f figures) float64  { return micros(f.large.Quantile(.5)) }
func smallRate(f figures) float64 { return f.smallRate.perSecond() }
func largeRate(f figures) float64 { return f.largeRate.perSecond() }
func coldList(f figures) float64  { return millis(f.coldList) }
func warmList(f figures) float64  { return millis(f.warmList) }

// The metrics with goals.
var (
	smallRatio = metric{title: "… added, floor = 1", format: "%.2f", read: smallP50, compare: addedRatio}
	busyRatio  = metric{title: "… floor = 1", format: "%.2f", high: true, read: smallRate, compare: overFloor}
	coldAdded  = metric{title: "… added, ms", format: "%.1f", read: coldList, compare: added}
	warmAdded  = metric{title: "… added, ms", format: "%.1f", read: warmList, compare: added}
	peakMemory = metric{title: "memory, peak, MiB", format: "%.1f", read: func(f figures) float64 { return mib(f.peak, f.memory) }}
)

// rows returns the metrics in the order of the table.
func rows(o options) []metric {
	large := fmt.Sprintf("%d KiB", o.large)
	busy := fmt.Sprintf("%d in flight", o.inflight)
	return []metric{
		{title: "call, p50, µs", format: "%.0f", read: smallP50},
		{title: "… added, µs", format: "%.0f", read: smallP50, compare: added},
		smallRatio,
		{title: "call, p99, µs", format: "%.0f", read: func(f figures) float64 { return micros(f.small.Quantile(.99)) }},
		{title: "calls per second, one after another", format: "%.0f", high: true, read: func(f figures) float64 {
			var took time.Duration
			for _, d := range f.small {
				took += d
			}
			return rate{len(f.small), took}.perSecond()
		}},
		{title: "call with " + large + ", p50, µs", format: "%.0f", read: largeP50},
		{title: "… added, µs", format: "%.0f", read: largeP50, compare: added},
		{title: "… added, floor = 1", format: "%.2f", read: largeP50, compare: addedRatio},
		{title: "calls per second, " + busy, format: "%.0f", high: true, read: smallRate},
		busyRatio,
		{title: "call, " + busy + ", p99, µs", format: "%.0f", read: func(f figures) float64 { return micros(f.busy.Quantile(.99)) }},
		{title: "calls per second, " + busy + ", " + large, format: "%.0f", high: true, read: largeRate},
		{title: "… floor = 1", format: "%.2f", high: true, read: largeRate, compare: overFloor},
		{title: "first start to initialize, ms", format: "%.1f", read: func(f figures) float64 { return millis(f.coldInit) }},
		{title: "first start to tools/list, ms", format: "%.1f", read: coldList},
		coldAdded,
		{title: "later start to initialize, ms", format: "%.1f", read: func(f figures) float64 { return millis(f.warmInit) }},
		{title: "later start to tools/list, ms", format: "%.1f", read: warmList},
		warmAdded,
		{title: "memory, idle, MiB", format: "%.1f", read: func(f figures) float64 { return mib(f.idle, f.memory) }},
		peakMemory,
	}
}

// goal is a figure that callgate is meant to reach.
type goal struct {
	text   string
	metric metric
	met    func(best float64) bool
}

func atMost(limit float64) func(float64) bool { return func(x float64) bool { return x <= limit } }

var goals = []goal{
	{"added to a small call at most 1.3 times what the floor adds", smallRatio, atMost(1.3)},
	{"at most 10 ms more to tools/list on later starts", warmAdded, atMost(10)},
	{"at most 30 ms more to tools/list on the first start", coldAdded, atMost(30)},
	{"less than 30 MiB at the peak", peakMemory, func(x float64) bool { return x < 30 }},
}

// report writes the table and whether the goals were met. The first target is direct, the second floor.
func report(out io.Writer, targets []*target, o options) error {
	direct, floor := targets[0], targets[1]
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %s/%s, %d CPUs; %d rounds of %d calls; each cell is best / median of the rounds.\n\n",
		runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), o.rounds, o.calls)
	b.WriteString("| |")
	for _, t := range targets {
		fmt.Fprintf(&b, " %s |", t.name)
	}
	b.WriteString("\n|---|" + strings.Repeat("---:|", len(targets)) + "\n")
	for _, m := range rows(o) {
		fmt.Fprintf(&b, "| %s |", m.title)
		for _, t := range targets {
			fmt.Fprintf(&b, " %s |", m.cell(m.over(t, direct, floor)))
		}
		b.WriteByte('\n')
	}
	b.WriteByte('\n')
	if len(targets) == 2 {
		b.WriteString("callgate was not measured: build it first.\n")
	}
	for _, t := range targets[2:] {
		for _, g := range goals {
			v := g.metric.over(t, direct, floor)
			verdict := "missed"
			if g.met(v.best) {
				verdict = "met"
			}
			fmt.Fprintf(&b, "- %s: %s: %s (%s)\n", t.name, g.text, verdict, g.metric.cell(v))
		}
	}
	_, err := io.WriteString(out, b.String())
	return err
}
