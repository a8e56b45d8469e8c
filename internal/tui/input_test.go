package tui

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

func press(name string) tea.KeyPressMsg {
	if k, ok := named[name]; ok {
		return k
	}
	if letter, ok := strings.CutPrefix(name, "ctrl+"); ok {
		return tea.KeyPressMsg{Code: rune(letter[0]), Mod: tea.ModCtrl}
	}
	switch name {
	case "delete":
		return tea.KeyPressMsg{Code: tea.KeyDelete}
	case "alt+y":
		return tea.KeyPressMsg{Code: 'y', Mod: tea.ModAlt}
	}
	return tea.KeyPressMsg{Code: []rune(name)[0], Text: name}
}

func TestInput(t *testing.T) {
	for _, test := range []struct {
		keys string // names of keys, with | after the text that is typed first
		want string // with | at the cursor
	}{
		{"a b c|", "a b c|"},
		{"one|left left X", "oX|ne"},
		{"one|home X end Y", "XoneY|"},
		{"one|ctrl+a ctrl+f ctrl+b X ctrl+e Y", "XoneY|"},
		{"one|backspace backspace backspace backspace", "|"},
		{"one|home delete delete delete delete", "|"},
		{"one|home ctrl+d X", "X|ne"},
		{"one two  |ctrl+w", "one |"},
		{"one two|ctrl+w ctrl+w ctrl+w", "|"},
		{"one two|left left ctrl+u", "|wo"},
		{"one two|home ctrl+k X", "X|"},
		{"a\tb\r\nc\x1b[31m\x00\u202e\xff|", "a b  c[31m\u202e|"},
		{"漢字|left backspace", "|字"},
		{"one|up down pgdown tab alt+y f1 ctrl+h", "on|"},
		{"0123456789 123456789 over|", "0123456789 123456789|"},
	} {
		t.Run(test.keys, func(t *testing.T) {
			in := input{limit: 20}
			text, keys, _ := strings.Cut(test.keys, "|")
			in.insert(text)
			for name := range strings.FieldsSeq(keys) {
				if name == "f1" {
					in.key(tea.KeyPressMsg{Code: tea.KeyF1})
					continue
				}
				in.key(press(name))
			}
			if got := string(in.text[:in.at]) + "|" + string(in.text[in.at:]); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

// FuzzInput checks that the input stays on one line of its width, whatever is typed, and that the cursor stays visible.
func FuzzInput(f *testing.F) {
	s := newStyles()
	for _, text := range hostile {
		f.Add(text, uint8(20), uint8(3))
	}
	f.Fuzz(func(t *testing.T, text string, width, back uint8) {
		in := input{limit: maxFeedback}
		in.insert(text)
		in.at = max(0, in.at-int(back))
		in.insert("x")
		columns := minWidth - 4 + int(width)
		line := in.view(&s, "hint", columns)
		if ansi.StringWidth(line) > columns || strings.ContainsAny(line, "\n\t") {
			t.Errorf("%q does not fit %d columns", line, columns)
		}
		if !strings.Contains(line, s.chosen.Styled(" ")[:4]) {
			t.Errorf("the cursor is not in sight: %q", line)
		}
	})
}

func TestPane(t *testing.T) {
	for _, test := range []struct {
		lines, height int
		keys          string
		top, below    int
	}{
		{10, 4, "", 0, 6},
		{10, 4, "down J", 2, 4},
		{10, 4, "space", 3, 3},
		{10, 4, "space space space space", 6, 0},
		{10, 4, "end up K", 4, 2},
		{10, 4, "G pgup b b b b", 0, 6},
		{10, 4, "ctrl+d ctrl+d ctrl+u f home g", 0, 6},
		{3, 4, "space end down up", 0, 0},
		{0, 4, "space end", 0, 0},
		{10, 0, "space end", 10, 0},
		{10, 4, "y", 0, 6},
	} {
		p := pane{lines: make([]string, test.lines)}
		p.resize(test.height)
		for k := range strings.FieldsSeq(test.keys) {
			p.scroll(k)
		}
		if p.top != test.top || p.below() != test.below || len(p.inSight()) > test.height {
			t.Errorf("%d lines, %d rows, %q: top %d, %d below, %d in sight; want %d and %d", test.lines, test.height, test.keys, p.top, p.below(), len(p.inSight()), test.top, test.below)
		}
	}
	p := pane{lines: make([]string, 10)}
	p.resize(2)
	p.scroll("end")
	if p.resize(8); p.top != 2 {
		t.Errorf("a pane that grew begins at %d", p.top)
	}
}
