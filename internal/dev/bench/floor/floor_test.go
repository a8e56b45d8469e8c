package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestRelayPassesMessagesAsTheyAre(t *testing.T) {
	const request = `{ "jsonrpc":"2.0", "id":1.0, "method":"tools/call", "params":{"name":"a\u0041"} }` + "\n"
	const answer = `{"jsonrpc":"2.0","id":1,"result":{}}` + "\r\n"
	const last = `{"jsonrpc":"2.0","method":"n"}` // without its line end
	var out bytes.Buffer
	if err := relay(&out, strings.NewReader(request+"noise\n\n{}\n"+answer+last)); err != nil {
		t.Fatal(err)
	}
	if want := request + answer + last; out.String() != want {
		t.Errorf("passed on %q, want %q", out.String(), want)
	}
}
