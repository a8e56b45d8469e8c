package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"callgate/internal/dev/bench/load"
)

const (
	// blocks is the number of turns in which each target gets its calls of one round, so that a short disturbance
	// affects all targets.
	blocks = 10
	// fewer is how many times fewer calls are made with the large text than with the small one.
	fewer = 10

	smallText = "hello"
)

// figures are the measurements of one target in one round.
type figures struct {
	coldInit, coldList time.Duration // medians of the starts
	warmInit, warmList time.Duration

	small, large         load.Latencies // sequential calls
	busy                 load.Latencies // calls with the small text, many in flight
	smallRate, largeRate rate           // many in flight

	memory     bool  // the system reports it
	idle, peak int64 // bytes
}

// rate counts calls and their total time.
type rate struct {
	calls int
	took  time.Duration
}

func (r *rate) add(calls int, took time.Duration) {
	r.calls += calls
	r.took += took
}

func (r rate) perSecond() float64 { return float64(r.calls) / r.took.Seconds() }

// measure adds one round to every target. Each round starts with another target, so that none always goes first.
func measure(targets []*target, round int, o options) error {
	turn := slices.Concat(targets[round%len(targets):], targets[:round%len(targets)])
	got := make(map[*target]*figures, len(turn))
	for _, t := range turn {
		f := new(figures)
		if err := f.starts(t, o.starts); err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
		got[t] = f
	}
	if err := sessions(turn, got, o); err != nil {
		return err
	}
	for _, t := range targets {
		t.rounds = append(t.rounds, *got[t])
	}
	return nil
}

// starts measures n starts without earlier state, and n that find the state of the previous start.
func (f *figures) starts(t *target, n int) error {
	var coldInit, coldList, warmInit, warmList load.Latencies
	for range n {
		if t.reset != nil {
			if err := t.reset(); err != nil {
				return err
			}
		}
		for _, into := range []struct{ init, list *load.Latencies }{{&coldInit, &coldList}, {&warmInit, &warmList}} {
			c, err := load.Start(t.command)
			if err != nil {
				return err
			}
			*into.init = append(*into.init, c.InitAfter)
			*into.list = append(*into.list, c.ListAfter)
			if err := c.Close(); err != nil {
				return err
			}
		}
	}
	f.coldInit, f.coldList = coldInit.Quantile(.5), coldList.Quantile(.5)
	f.warmInit, f.warmList = warmInit.Quantile(.5), warmList.Quantile(.5)
	return nil
}

// sessions keeps one connection to every target open and makes their calls in turns.
func sessions(turn []*target, got map[*target]*figures, o options) (err error) {
	clients := make(map[*target]*load.Client, len(turn))
	defer func() {
		for t, c := range clients {
			if closeErr := c.Close(); closeErr != nil {
				err = errors.Join(err, fmt.Errorf("%s: %w", t.name, closeErr))
			}
		}
	}()
	for _, t := range turn {
		c, err := load.Start(t.command)
		if err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
		clients[t] = c
		memory, ok := c.Memory()
		got[t].memory, got[t].idle = ok, memory.Now
	}
	largeText := strings.Repeat("0123456789abcdef", o.large<<10/16)
	for block := range blocks + 1 {
		for _, t := range turn {
			f := got[t]
			if block == 0 { // caches fill, heaps grow, pools start: not counted
				f = new(figures)
			}
			if err := f.block(clients[t], o, largeText); err != nil {
				return fmt.Errorf("%s: %w", t.name, err)
			}
		}
	}
	for _, t := range turn {
		memory, ok := clients[t].Memory()
		got[t].memory, got[t].peak = got[t].memory && ok, memory.Peak
	}
	return nil
}

// block adds one turn of calls.
func (f *figures) block(c *load.Client, o options, largeText string) error {
	n := o.calls / blocks
	few := max(1, n/fewer)

	small, err := c.Sequential(n, smallText)
	if err != nil {
		return err
	}
	f.small = append(f.small, small...)

	large, err := c.Sequential(few, largeText)
	if err != nil {
		return err
	}
	f.large = append(f.large, large...)

	took, busy, err := c.InFlight(4*n, o.inflight, smallText)
	if err != nil {
		return err
	}
	f.busy = append(f.busy, busy...)
	f.smallRate.add(4*n, took)

	took, _, err = c.InFlight(4*few, o.inflight, largeText)
	if err != nil {
		return err
	}
	f.largeRate.add(4*few, took)
	return nil
}
