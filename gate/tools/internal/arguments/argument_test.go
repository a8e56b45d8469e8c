package arguments

import (
	"reflect"
	"strings"
	"testing"
)

// Reading in place gives what a decoder gives, and accepts nothing that a decoder refuses.
func FuzzInPlace(f *testing.F) {
	for _, raw := range []string{
		`{}`, `[]`, ` [ 1 , "a" , {"b":[2]} ] `, `{"a":1,"b":{"c":"d"}}`, `{"a":1,"A":2}`, `{"a":1,"a":2}`, `{"a":{"b":1,"b":2}}`, `[{"b":1,"B":2}]`,
		`{"\u0061":1,"a":2}`, `{"é\n":"\ud83d\ude00"}`, `{"a":"\ud83d"}`, `{"a":1`, `{"a":1}x`, `[1,]`, `"a"`, `1`, ``, `{"a":"\xff"}`, strings.Repeat("[", 300) + strings.Repeat("]", 300),
	} {
		f.Add([]byte(raw))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if len(raw) == 0 {
			return
		}
		list, ok := inPlace(raw)
		want, taken := read(raw)
		if ok && (!taken || !reflect.DeepEqual(list, want)) {
			t.Errorf("%q: %q, and a decoder reads %q, %v", raw, list, want, taken)
		}
	})
}
