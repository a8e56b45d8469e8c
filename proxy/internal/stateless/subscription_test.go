package stateless

import "testing"

// A listener's notification has only one _meta, whatever the server wrote.
func TestTagged(t *testing.T) {
	const tag = `"io.modelcontextprotocol/subscriptionId":"s"`
	for params, want := range map[string]string{
		"":                          `{"_meta":{` + tag + `}}`,
		`{"uri":"x"}`:               `{"_meta":{` + tag + `},"uri":"x"}`,
		`{"uri":"x","_meta":{}}`:    `{"uri":"x","_meta":{` + tag + `}}`,
		`{"_meta":{"a":1.0}}`:       `{"_meta":{` + tag + `,"a":1.0}}`,
		`{"_meta":null,"uri":"x"}`:  `{"_meta":{` + tag + `},"uri":"x"}`,
		`{"uri":"x","_meta":[{}] }`: `{"uri":"x","_meta":{` + tag + `} }`,
	} {
		var raw []byte
		if params != "" {
			raw = []byte(params)
		}
		if got := tagged(raw, []byte(`"s"`)); string(got) != want {
			t.Errorf("%s: %s", params, got)
		}
	}
}
