package main

import (
	"strings"
	"testing"
)

// Rows that differ only in their transport are one line. Columns in which all went well are one sentence.
func TestTable(t *testing.T) {
	ok := row{host: "Codex", version: "1.2", transport: "stdio", era: "2025-06-18", offered: "ok", allowed: "ok", denied: "ok", asked: "ok",
		form: "declined", url: "ok", relisted: "ok", limited: "ok", interrupted: "server ended"}
	over := ok
	over.transport, over.interrupted = "HTTP", "said nothing"
	other := ok
	other.era = "2026-07-28"
	want := `ok in every run: **offered**, **allowed**, **denied**, **asked**, **URL**, **list_changed**, **limit**.

|host|revision|over|form|interrupted|
|---|---|---|---|---|
|Codex 1.2|2025-06-18|stdio, HTTP|declined|server ended (HTTP: said nothing)|
|Codex 1.2|2026-07-28|stdio|declined|server ended|
`
	if got := table([]row{ok, over, other}); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, strings.TrimSpace(want))
	}
}
