package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// at returns a message from a number of seconds into a run.
func at(seconds int, down bool, text string) message {
	m := message{At: time.Unix(int64(1000+seconds), 0), Down: down}
	if text != "" {
		m.Text = []byte(text)
	}
	return m
}

// The cell says what the server learned of a call that the host gave up. Silence is not the same as the end of all.
func TestGivenUp(t *testing.T) {
	called := at(0, false, `{"id":"cg-7","method":"tools/call","params":{"name":"wait","arguments":{"key":"limited"}}}`)
	other := at(1, false, `{"method":"notifications/cancelled","params":{"requestId":"cg-6"}}`)
	for _, c := range []struct {
		name  string
		wire  []message
		alive bool
		want  string
	}{
		{"cancelled", []message{called, other, at(8, false, `{"method":"notifications/cancelled","params":{"requestId":"cg-7"}}`)}, true, "ok"},
		{"cancelled late", []message{called, at(60, false, `{"method":"notifications/cancelled","params":{"requestId":"cg-7"}}`)}, true, "ok, after 60 s"},
		{"input ended", []message{called, at(2, false, "")}, false, "server ended"},
		{"killed", []message{called}, false, "server ended"},
		{"silent", []message{called, other}, true, "said nothing"},
		{"patient", []message{called, at(120, true, `{"id":"cg-7","result":{}}`)}, true, "waited 120 s"},
		{"never called", []message{other}, true, "**not tried**"},
	} {
		e := &evidence{server: c.wire, alive: c.alive}
		if got := e.gaveUp("limited"); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

// A run in which everything worked, and how each part shows if it did not work.
func TestFindings(t *testing.T) {
	results := []string{
		`"{\"text\":\"allowed\"}"`, `"callgate denied features_echo."`, `"Approval x is pending. ` + pending + `"`, `"{\"text\":\"asked\"}"`,
		`"{\"action\":\"accept\"}"`, `"{\"action\":\"decline\"}"`, `"changed"`, `"meanwhile"`, `"added"`,
	}
	whole := func() *evidence {
		return &evidence{
			turns:     []turn{{Offered: []offer{{Name: "mcp__callgate__features_echo"}}}, {Results: results}},
			approvals: []answered{{shown: time.Unix(1, 0), given: time.Unix(91, 0)}},
			host: []message{
				at(0, false, `{"id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{"form":{},"url":{}}}}}`),
				at(0, true, `{"id":1,"result":{"protocolVersion":"2025-06-18"}}`),
				at(5, true, `{"method":"notifications/tools/list_changed"}`),
				at(6, false, `{"id":9,"method":"tools/list"}`),
			},
		}
	}
	row := func(e *evidence) string {
		r := find(e, &evidence{})
		return strings.Join([]string{r.era, r.offered, r.allowed, r.denied, r.asked, r.form, r.url, r.relisted}, ", ")
	}
	if got, want := row(whole()), "2025-06-18, ok, ok, ok, ok, handed over once, accepted, declined, ok"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for _, c := range []struct {
		name  string
		spoil func(e *evidence)
		want  string
	}{
		{"not approved", func(e *evidence) { e.approvals[0].given = time.Time{} }, "**1 questions, then"},
		{"asked twice", func(e *evidence) { e.approvals = append(e.approvals, e.approvals[0]) }, "**2 questions, then"},
		{"model saw nothing", func(e *evidence) { e.turns = e.turns[:1] }, "**nothing**"},
		{"no tools", func(e *evidence) { e.turns = nil }, "**no**"},
		{"not asked", func(e *evidence) { e.host = e.host[1:]; e.turns[1].Results = results[:4] }, "not declared, not declared"},
		{"asked all the same", func(e *evidence) { e.host = e.host[1:] }, "action"},
		{"no answer", func(e *evidence) { e.turns[1].Results = results[:4] }, "**nothing**, **nothing**"},
		{"no list", func(e *evidence) { e.turns[1].Results = results[:8]; e.host = e.host[:3] }, "told, did not list"},
		{"list of no use", func(e *evidence) { e.turns[1].Results = results[:8] }, "listed, not offered"},
		{"not told", func(e *evidence) { e.turns[1].Results = results[:8]; e.host = e.host[:2] }, "**not told**"},
		{"stateless", func(e *evidence) {
			e.host = append(e.host, at(1, false, `{"method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`))
		}, "2026-07-28, ok"},
	} {
		e := whole()
		c.spoil(e)
		if got := row(e); !strings.Contains(got, c.want) {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

// The table replaces the one in the page, and nothing else.
func TestUpdate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "page.md")
	for text, want := range map[string]string{
		"a\n" + begins + "old\n" + ends + "b\n": "a\n" + begins + "new\n" + ends + "b\n",
		"a\n" + begins + "old\n":                "",
		"a\n":                                   "",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		err := update(path, "new\n")
		have, readErr := os.ReadFile(path)
		if readErr != nil {
			t.Fatal(readErr)
		}
		if want == "" && (err == nil || string(have) != text) || want != "" && string(have) != want {
			t.Errorf("%q became %q: %v", text, have, err)
		}
	}
}
