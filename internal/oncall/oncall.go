// Package oncall reads from an iCalendar file who is on call.
package oncall

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/emersion/go-ical"
	"github.com/teambition/rrule-go"

	"callgate/internal/durable"
)

// maxFile bounds the calendar, in bytes.
const maxFile = 4 << 20

// Calendar is an iCalendar file. It is read again when it has changed.
type Calendar struct {
	path string

	mu      sync.Mutex
	stamp   fs.FileInfo
	shifts  []shift
	minute  time.Time // for which names was computed
	names   []string
	problem error
}

// shift is an event, with the people who are on call during it.
type shift struct {
	names  []string
	set    *rrule.Set // its starts; nil for a single one
	start  time.Time
	length time.Duration
	not    []time.Time // starts that other events replace
}

// Open opens the calendar at path. The Calendar is usable even if the first reading fails.
func Open(path string) (*Calendar, error) {
	c := &Calendar{path: path}
	_, err := c.At(time.Now())
	return c, err
}

// At returns who is on call: the summaries of the events, and the names and addresses of their attendees. If the file
// cannot be read, it returns an error and nobody is on call.
func (c *Calendar) At(now time.Time) ([]string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	info, err := os.Stat(c.path)
	if err != nil {
		return nil, fmt.Errorf("on call: %w", err)
	}
	if c.stamp == nil || !os.SameFile(info, c.stamp) || !info.ModTime().Equal(c.stamp.ModTime()) || info.Size() != c.stamp.Size() {
		c.stamp, c.minute = info, time.Time{}
		if c.shifts, c.problem = read(c.path); c.problem != nil {
			c.problem = fmt.Errorf("on call: %s: %w", c.path, c.problem)
		}
	}
	if minute := now.Truncate(time.Minute); c.problem == nil && !minute.Equal(c.minute) {
		c.minute, c.names = minute, nil
		for i := range c.shifts {
			if s := &c.shifts[i]; s.covers(minute) {
				c.names = append(c.names, s.names...)
			}
		}
	}
	if c.problem != nil {
		return nil, c.problem
	}
	return slices.Clone(c.names), nil
}

// Among reports whether one of the names is one of the person's names, ignoring case.
func Among(names []string, person ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		return slices.ContainsFunc(person, func(own string) bool { return own != "" && strings.EqualFold(name, own) })
	})
}

func (s *shift) covers(now time.Time) bool {
	begins := func(start time.Time) bool { return !start.After(now) && now.Before(start.Add(s.length)) }
	if s.set == nil {
		return begins(s.start)
	}
	return slices.ContainsFunc(s.set.Between(now.Add(-s.length), now, true), func(start time.Time) bool {
		return begins(start) && !slices.ContainsFunc(s.not, start.Equal)
	})
}

func read(path string) ([]shift, error) {
	text, err := durable.ReadFile(path, maxFile)
	if err != nil {
		return nil, err
	}
	calendar, err := ical.NewDecoder(bytes.NewReader(text)).Decode()
	if err != nil {
		return nil, err
	}
	var shifts []shift
	series := map[string][]int{} // indexes in shifts, by UID
	moved := map[string][]time.Time{}
	for _, e := range calendar.Events() {
		uid, err := e.Props.Text(ical.PropUID)
		if err != nil {
			return nil, err
		}
		if at := e.Props.Get(ical.PropRecurrenceID); at != nil {
			instead, err := at.DateTime(time.Local)
			if err != nil {
				return nil, err
			}
			if at.Params.Get(ical.ParamRange) != "" {
				return nil, fmt.Errorf("event %q: it changes all later shifts (RANGE), which callgate does not support: end the series and start a new one", uid)
			}
			moved[uid] = append(moved[uid], instead)
		}
		s, err := shiftOf(&e)
		if err != nil {
			return nil, fmt.Errorf("event %q: %w", uid, err)
		}
		if s == nil {
			continue
		}
		if s.set != nil {
			series[uid] = append(series[uid], len(shifts))
		}
		shifts = append(shifts, *s)
	}
	for uid, all := range series {
		for _, i := range all {
			shifts[i].not = moved[uid]
		}
	}
	return shifts, nil
}

// shiftOf returns the shift of an event, or nil if the event is cancelled.
func shiftOf(e *ical.Event) (*shift, error) {
	if status, err := e.Status(); err != nil || status == ical.EventCancelled {
		return nil, err
	}
	s := &shift{}
	var err, wrong error
	s.start, err = e.DateTimeStart(time.Local)
	end, wrong := e.DateTimeEnd(time.Local)
	if err := errors.Join(err, wrong); err != nil {
		return nil, err
	}
	if s.length = end.Sub(s.start); s.length <= 0 {
		return nil, errors.New("it ends before it begins")
	}
	if s.set, err = recurrence(e, s.start); err != nil {
		return nil, err
	}
	summary, err := e.Props.Text(ical.PropSummary)
	if err != nil {
		return nil, err
	}
	s.add(summary)
	for _, attendee := range e.Props.Values(ical.PropAttendee) {
		s.add(attendee.Params.Get(ical.ParamCommonName))
		s.add(strings.TrimPrefix(strings.ToLower(attendee.Value), "mailto:"))
	}
	return s, nil
}

// recurrence returns all starts of an event, or nil if it takes place once. (The library does not parse lists of dates,
// and treats added dates as excluded ones.)
func recurrence(e *ical.Event, start time.Time) (*rrule.Set, error) {
	rule, added := e.Props.Get(ical.PropRecurrenceRule), e.Props.Values(ical.PropRecurrenceDates)
	if rule == nil && len(added) == 0 {
		return nil, nil
	}
	set := &rrule.Set{}
	if rule == nil {
		set.RDate(start)
	} else {
		option, err := rrule.StrToROption(rule.Value)
		if err != nil {
			return nil, err
		}
		if option.Freq > rrule.DAILY { // a lookup would take one step for each hour since the start
			return nil, errors.New("a shift cannot repeat more often than daily")
		}
		every, err := rrule.NewRRule(*option)
		if err != nil {
			return nil, err
		}
		set.RRule(every)
		set.DTStart(start)
	}
	return set, errors.Join(eachDate(added, set.RDate), eachDate(e.Props.Values(ical.PropExceptionDates), set.ExDate))
}

// eachDate calls f for every date in the properties, each of which holds one or more.
func eachDate(props []ical.Prop, f func(time.Time)) error {
	for _, p := range props {
		for value := range strings.SplitSeq(p.Value, ",") {
			one := p
			one.Value = value
			at, err := one.DateTime(time.Local)
			if err != nil {
				return err
			}
			f(at)
		}
	}
	return nil
}

func (s *shift) add(name string) {
	if name = strings.TrimSpace(name); name != "" {
		s.names = append(s.names, name)
	}
}
