package jsonx

import "testing"

func TestMetaNames(t *testing.T) {
	for text, want := range map[string]string{
		`{"_meta":{"callgate/verify":1,"a":2}}`:                                 `{"_meta":{"X":1,"a":2}}`,
		`{"content":[{"_meta":{"\u0063allgate\/verify":true}}],"_meta" : { } }`: `{"content":[{"_meta":{"X":true}}],"_meta" : { } }`,
		`{"_meta":{"x":{"callgate/verify":1}},"callgate/verify":2}`:             `{"_meta":{"x":{"callgate/verify":1}},"callgate/verify":2}`,
		`{"_meta":[{"callgate/a":1}],"a":"callgate/b","b":"_meta"}`:             `{"_meta":[{"callgate/a":1}],"a":"callgate/b","b":"_meta"}`,
		`{"\u005fmeta":{"callgate/a":{"_meta":{"callgate/b":[]}}}}`:             `{"\u005fmeta":{"X":{"_meta":{"X":[]}}}}`,
		`[{"_meta":{"callgate/`:                                                 `[{"_meta":{"callgate/`,
		``:                                                                      ``,
	} {
		edits := MetaNames([]byte(text), "callgate/")
		for i := range edits {
			edits[i].With = []byte(`"X"`)
		}
		if got := string(Splice([]byte(text), edits...)); got != want {
			t.Errorf("%s\n got %s\nwant %s", text, got, want)
		}
	}
}
