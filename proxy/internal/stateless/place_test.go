package stateless

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"callgate/internal/rpc"
)

// Requests continue where the parked request or task that they name is.
func TestPlacesOf(t *testing.T) {
	for text, want := range map[string]string{
		`{"method":"tools/call","params":{"requestState":"here.x_-"}}`:                                        "here",
		`{"method":"tools/call","params":{"requestState":"x_-"}}`:                                             "",
		`{"method":"tasks/get","params":{"taskId":"task-here"}}`:                                              "here",
		`{"method":"tasks/get","params":{"taskId":7}}`:                                                        "",
		`{"method":"tools/call","params":{"arguments":{"taskId":"here.x"}}}`:                                  "",
		`{"method":"tools/call"}`:                                                                             "",
		`{"method":"subscriptions/listen","params":{"notifications":{"taskIds":["task-here","task-there"]}}}`: "here there",
		`{"method":"subscriptions/listen","params":{"notifications":{"taskIds":[]}}}`:                         "",
		`{"method":"tools/call","params":{"notifications":{"taskIds":["task-here"]}}}`:                        "",
	} {
		m, err := rpc.Parse([]byte(`{"jsonrpc":"2.0","id":1,` + text[1:]))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(PlacesOf(m), " "); got != want {
			t.Errorf("%s goes to %q", text, got)
		}
	}
}

// A parked request's state says where it is. An approval's opens anywhere.
func TestSealedPlace(t *testing.T) {
	at := func(place string) *Clients {
		all, err := New(Options{Place: func() string { return place }, Secret: []byte("shared"), Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	here, there := at("here"), at("there")
	from, until := Sender{Principal: "p"}, time.Now().Add(time.Minute)
	for name, want := range map[string]requestState{"here": {Parked: "e", Round: 2}, "": {Approval: "a"}} {
		want.Digest, want.Until = "d", until
		state, err := here.seal(from, want)
		if err != nil {
			t.Fatal(err)
		}
		m := rpc.Message{Method: "tools/call", Params: []byte(`{"requestState":"` + state + `"}`)}
		if got := strings.Join(PlacesOf(m), ""); got != name {
			t.Errorf("%v goes to %q", want, got)
		}
		if got, err := there.unseal(from, state, "d"); err != nil || got.Parked != want.Parked || got.Approval != want.Approval {
			t.Errorf("%v, %v", got, err)
		}
	}
}
