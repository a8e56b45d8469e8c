package proxy

import (
	"strings"
	"testing"

	"callgate/internal/rpc"
	"callgate/proxy/internal/raw"
)

// An item from callgate changes no other byte of a result, and a result without a place for it stays unchanged.
func TestContentIsAppendedBesideEveryOtherByte(t *testing.T) {
	for result, want := range map[string]string{
		`{"content":[]}`: `{"content":[ITEM]}`,
		`{ "x":1.0, "content" : [ {"type":"text","text":"\u0041"} ] ,"structuredContent":{"n":1e400}}`: `{ "x":1.0, "content" : [ {"type":"text","text":"\u0041"} ,ITEM] ,"structuredContent":{"n":1e400}}`,
		`{"content":[ ]}`:                 `{"content":[ ITEM]}`,
		`{"content":"text"}`:              `{"content":"text"}`,
		`{"structuredContent":{"a":[1]}}`: `{"structuredContent":{"a":[1]}}`,
	} {
		answer, err := rpc.Parse(rpc.Result([]byte("1"), []byte(result)))
		if err != nil {
			t.Fatal(err)
		}
		item := []byte(`{"type":"text","text":"ITEM"}`)
		got := string(raw.WithContent(answer, item).Result)
		if expected := strings.Replace(want, "ITEM", string(item), 1); got != expected {
			t.Errorf("%s became %s, want %s", result, got, expected)
		}
		if raw.TakesContent(answer) != (want != result) {
			t.Errorf("takes content: %s", result)
		}
	}
}

// callgate's progress continues from the server's last value.
func TestProgressRises(t *testing.T) {
	first := &inflight{reached: progressStep, ours: true} // after a wait for a person
	for _, c := range []struct{ params, want string }{
		{`{"progress":0,"total":2}`, `{"progress":0.0002,"total":2}`},
		{`{"progress":0.5}`, `{"progress":0.5}`},
		{`{"progress":0.5}`, `{"progress":0.5}`}, // the server may repeat its own value
		{`{}`, `{}`},
	} {
		if got := first.noteProgress([]byte(c.params)); string(got) != c.want {
			t.Errorf("%s: %s, want %s", c.params, got, c.want)
		}
	}
	r := &inflight{}
	for _, params := range []string{`{"progressToken":1,"progress":7.5}`, `{"progressToken":1,"progress":3}`, `{"progressToken":1,"progress":"x"}`, `{}`} {
		r.noteProgress([]byte(params))
	}
	if r.reached != 7.5 {
		t.Errorf("reached %v", r.reached)
	}
}
