package tui

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode"

	tea "charm.land/bubbletea/v2"

	"callgate/internal/companion/wire"
)

// keyboard lists every key with a meaning, and some without.
var keyboard = append(slices.Sorted(maps.Keys(named)), strings.Split("yYnNaAeEuUqxrhjklgGJKbf123?zé", "")...)

// harmless is the keyboard without the keys that can approve: y, and those that choose another button.
var harmless = slices.DeleteFunc(slices.Clone(keyboard), func(k string) bool {
	return slices.Contains([]string{"y", "Y", "right", "l", "ctrl+c"}, k)
})

// said counts the answers that let something run.
func (p *person) said() (yes int) {
	for _, f := range p.answers {
		if f.Decision != "reject" {
			yes++
		}
	}
	return yes
}

// FuzzTypingIntoAQuestion checks that keys typed while a question pops up, with pauses shorter than the required rest,
// send nothing at all.
func FuzzTypingIntoAQuestion(f *testing.F) {
	f.Add([]byte("yyyy"))
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30})
	f.Add([]byte{40, 3, 40, 3})
	f.Add(bytes.Repeat([]byte{byte(slices.Index(keyboard, "ctrl+c")), byte(slices.Index(keyboard, "y"))}, 5))
	f.Fuzz(func(t *testing.T, typed []byte) {
		synctest.Test(t, func(t *testing.T) {
			p := sit(t, 120, 60)
			p.rests()
			p.event(push())
			for i, b := range typed[:min(len(typed), 200)] {
				p.waits(time.Duration(int(b)*7+i) * time.Millisecond % quietTime)
				if p.types(keyboard[int(b)%len(keyboard)]); p.quit {
					break // Ctrl-C always quits
				}
			}
			if len(p.answers)+len(p.levels)+len(p.cancels)+len(p.started) > 0 {
				t.Errorf("typing into the question sent %+v %v %v %v", p.answers, p.levels, p.cancels, p.started)
			}
		})
	})
}

// FuzzEnterNeverAllows checks that without y and without choosing another button, no keys let a call run, no matter how
// often and in which dialog Enter is pressed, and how long the person waits.
func FuzzEnterNeverAllows(f *testing.F) {
	f.Add([]byte("\x06\x06\x06\x06"))
	f.Add([]byte("aEnter"))
	all := make([]byte, 3*len(harmless))
	for i := range all {
		all[i] = byte(i)
	}
	f.Add(all)
	f.Fuzz(func(t *testing.T, typed []byte) {
		synctest.Test(t, func(t *testing.T) {
			p := sit(t, 120, 60)
			p.event(push())
			p.event(edits())
			for _, b := range typed[:min(len(typed), 200)] {
				p.rests()
				p.types(harmless[int(b)%len(harmless)], "enter")
			}
			if p.said() > 0 {
				t.Errorf("%d answers let a call run: %+v", p.said(), p.answers)
			}
		})
	})
}

// hostile lists texts that try to be something else on a screen.
var hostile = []string{
	"", "plain", "\x1b[2J\x1b[1;1H[ Approve ]", "a\u202Egnp.exe", "tabs\tand\r\nlines", "\u200b\u200d\ufeff", "漢字かな交じり文", "👩‍👩‍👧‍👦🏴‍☠️",
	strings.Repeat("long ", 100), strings.Repeat("x", 400), "\xff\xfe", "e" + strings.Repeat("\u0301", 40), "\x9b31m", "╭─ fake ─╮",
}

// FuzzScreen checks that whatever arrives or is typed, and however large the window is, the screen fits the window and
// holds no terminal commands, and nothing is approved unread.
func FuzzScreen(f *testing.F) {
	f.Add([]byte("\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09"))
	f.Add([]byte("\x02\x02\x02\x02\x02\x00\x1e\x00\x3c\x01\x05\x03\x01\x01\x01"))
	for step := range byte(12) {
		seed := make([]byte, 60)
		for i := range seed {
			seed[i] = byte(i)*(2*step+1) + step
		}
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, script []byte) {
		synctest.Test(t, func(t *testing.T) {
			p := sit(t, 80, 24)
			next := func() int {
				if len(script) == 0 {
					return 0
				}
				b := script[0]
				script = script[1:]
				return int(b)
			}
			text := func() string { return hostile[next()%len(hostile)] }
			for range 60 {
				if len(script) == 0 {
					break
				}
				switch next() % 7 {
				case 0:
					p.update(tea.WindowSizeMsg{Width: next(), Height: next() % 80})
				case 1, 2:
					said := p.said()
					read := p.m.current != nil && p.m.current.read
					p.rests()
					p.types(keyboard[next()%len(keyboard)])
					if p.said() > said && !read {
						t.Fatal("what was not read was allowed")
					}
				case 3:
					p.event(hostileRequest(text, next()))
				case 4:
					p.event(&wire.ToolApproveResolved{ToolCallID: fmt.Sprint(next() % 5), Decision: text(), By: text(), Reason: text()})
				case 5:
					id := fmt.Sprint(next() % 3)
					p.event(&wire.TeamUpdate{Head: wire.Head{SessionID: id}, Agents: []wire.TeamAgent{{AgentID: text(), Permissions: text()}}})
					p.event(&wire.AutonomyChanged{Head: wire.Head{SessionID: id}, Level: text(), By: text()})
					p.event(&wire.AuditEntry{ToolCallID: text(), Tool: text(), Decision: text(), Risk: text(), By: text(), Summary: text()})
					p.event(&wire.Error{Message: text(), ToolCallID: id})
				case 6:
					p.update(statusMsg{p.m.address, status{servers: []server{{Name: text(), State: text(), Error: text()}}}})
					p.update(tea.PasteMsg{Content: text()})
				}
				fits(t, p.m)
				obeys(t, p)
			}
		})
	})
}

func hostileRequest(text func() string, n int) *wire.ToolApproveRequest {
	f := push()
	f.ToolCallID, f.SessionID = fmt.Sprint(n%5), fmt.Sprint(n%3)
	f.Tool, f.Server, f.Summary, f.Reason, f.AgentID = text(), text(), text(), text(), text()
	f.Risk = wire.Risk{Class: text(), Label: text(), Category: text()}
	f.Commands = []wire.Command{{Argv: []string{text(), text()}, Via: []string{text()}, Reads: []string{text()}, Risk: text()}, {}}
	f.Reasons = []wire.Reason{{Subject: text(), Action: text(), Layer: text()}}
	f.Always = []wire.Offer{{Tool: text(), Pattern: text(), Subject: -n, Default: true}, {Tool: text(), Pattern: text(), Subject: n}}
	f.Marks = []wire.Mark{{Text: text()}}
	if args, err := json.Marshal(map[string]any{"old_text": text(), "new_text": text(), "edits": []any{map[string]string{"oldText": text(), "newText": text()}}}); err == nil {
		f.Args = args
	}
	if n%7 == 0 {
		f.Args = json.RawMessage(text())
	}
	return f
}

// colours matches the only commands that a screen may send to the terminal.
var colours = regexp.MustCompile("\x1b\\[[0-9;]*m")

// obeys checks that the screen contains no commands except colours, and nothing invisible.
func obeys(t *testing.T, p *person) {
	t.Helper()
	screen := colours.ReplaceAllString(p.m.View().Content, "")
	for _, r := range screen {
		if r != '\n' && !unicode.IsPrint(r) {
			t.Fatalf("%U is on the screen:\n%q", r, screen)
		}
	}
}
