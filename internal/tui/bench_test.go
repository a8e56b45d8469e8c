package tui

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"callgate/internal/companion/wire"
)

// BenchmarkKey scrolls with a key and draws the screen.
func BenchmarkKey(b *testing.B) {
	m := newModel(nil, false, false)
	m.Update(tea.WindowSizeMsg{Width: 120, Height: 40})
	f := push()
	f.Args = json.RawMessage(`{"content":"` + strings.Repeat(`one line of text\n`, 1000) + `"}`)
	listener{m}.event(wire.Event{Frame: f})
	m.quiet.last = time.Time{}
	keys := []tea.KeyPressMsg{named["pgdown"], named["pgup"]}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		m.Update(keys[i%2])
		m.View()
	}
}

// BenchmarkDetail lays out a call whose arguments hold a file of 1 MiB.
func BenchmarkDetail(b *testing.B) {
	s := newStyles()
	f := push()
	f.Args = json.RawMessage(`{"path":"big.txt","content":"` + strings.Repeat(`some text, 32 bytes in all here\n`, 32<<10) + `"}`)
	a := &approval{ToolApproveRequest: f}
	b.SetBytes(int64(len(f.Args)))
	b.ReportAllocs()
	for b.Loop() {
		s.detail(a, 100)
	}
}
