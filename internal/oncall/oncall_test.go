package oncall

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func file(t *testing.T, events ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "oncall.ics")
	text := "BEGIN:VCALENDAR\nVERSION:2.0\nPRODID:-//x//y//EN\n"
	for _, e := range events {
		text += "BEGIN:VEVENT\nDTSTAMP:20260101T000000Z\n" + e + "\nEND:VEVENT\n"
	}
	text += "END:VCALENDAR\n"
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(text, "\n", "\r\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestWhoIsOnCall(t *testing.T) {
	path := file(t,
		// Alice is on call every other week from Monday at nine, except for a week that Bob takes over.
		"UID:a\nSUMMARY:Alice\nDTSTART:20260105T090000Z\nDTEND:20260112T090000Z\nRRULE:FREQ=WEEKLY;INTERVAL=2;UNTIL=20260301T000000Z",
		"UID:a\nRECURRENCE-ID:20260202T090000Z\nSUMMARY:Bob\nDTSTART:20260202T090000Z\nDTEND:20260209T090000Z",
		"UID:c\nSUMMARY:Primary\nATTENDEE;CN=Carol:mailto:Carol@example.com\nDTSTART:20260112T090000Z\nDURATION:P7D\nEXDATE:20260126T090000Z,20260309T090000Z\nRRULE:FREQ=WEEKLY;INTERVAL=2;UNTIL=20260315T000000Z",
		// Two series have the same name, and one of their shifts is cancelled. Another event has extra days.
		"UID:f\nSUMMARY:Fay\nDTSTART:20260401T090000Z\nDTEND:20260401T170000Z\nRRULE:FREQ=DAILY;COUNT=3",
		"UID:f\nSUMMARY:Gus\nDTSTART:20260401T170000Z\nDTEND:20260402T010000Z\nRRULE:FREQ=DAILY;COUNT=3",
		"UID:f\nSUMMARY:Fay\nSTATUS:CANCELLED\nRECURRENCE-ID:20260402T090000Z\nDTSTART:20260402T090000Z\nDTEND:20260402T170000Z",
		"UID:h\nSUMMARY:Hal\nDTSTART:20260501T090000Z\nDTEND:20260501T170000Z\nRDATE:20260503T090000Z,20260507T090000Z",
		"UID:d\nSUMMARY:Dave\nSTATUS:CANCELLED\nDTSTART:20260105T090000Z\nDTEND:20270105T090000Z",
	)
	c, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	for at, want := range map[string]string{
		"2026-01-05T08:59:59Z": "",
		"2026-01-05T09:00:00Z": "Alice",
		"2026-01-12T08:59:00Z": "Alice",
		"2026-01-12T09:00:00Z": "Primary Carol carol@example.com",
		"2026-01-20T09:00:00Z": "Alice",
		"2026-01-27T09:00:00Z": "",
		"2026-02-03T09:00:00Z": "Bob",
		"2026-03-10T09:00:00Z": "",
		"2026-04-01T10:00:00Z": "Fay",
		"2026-04-02T10:00:00Z": "",
		"2026-04-02T18:00:00Z": "Gus",
		"2026-04-03T10:00:00Z": "Fay",
		"2026-05-01T10:00:00Z": "Hal",
		"2026-05-02T10:00:00Z": "",
		"2026-05-07T10:00:00Z": "Hal",
	} {
		now, err := time.Parse(time.RFC3339, at)
		if err != nil {
			t.Fatal(err)
		}
		if names, err := c.At(now); err != nil || strings.Join(names, " ") != want {
			t.Errorf("at %s: %q %v, want %q", at, names, err, want)
		}
	}
	// The file is read again, and nobody is on call while it cannot be read.
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if names, err := c.At(time.Now()); err == nil || len(names) > 0 {
		t.Errorf("without a file: %q %v", names, err)
	}
	now := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	if err := os.Rename(file(t, "UID:e\nSUMMARY:Erin\nDTSTART;VALUE=DATE:20260302"), path); err != nil {
		t.Fatal(err)
	}
	if names, err := c.At(now); err != nil || !slices.Equal(names, []string{"Erin"}) {
		t.Errorf("another file: %q %v", names, err)
	}
}

func TestCalendarsThatSayNothing(t *testing.T) {
	for name, event := range map[string]string{
		"no calendar": "", "every second": "UID:a\nSUMMARY:A\nDTSTART:19700101T000000Z\nDURATION:PT1S\nRRULE:FREQ=SECONDLY",
		"no length": "UID:a\nSUMMARY:A\nDTSTART:20260105T090000Z", "no start": "UID:a\nSUMMARY:A", "an override of all that follow": "UID:a\nRECURRENCE-ID;RANGE=THISANDFUTURE:20260105T090000Z\nSUMMARY:A\nDTSTART:20260105T090000Z\nDURATION:P1D", "a wrong rule": "UID:a\nSUMMARY:A\nDTSTART:20260105T090000Z\nDURATION:P1D\nRRULE:FREQ=SOMETIMES",
	} {
		path := file(t, event)
		if event == "" {
			if err := os.WriteFile(path, []byte("hello"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := Open(path); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}
