package audit

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"
)

// TestEveryFieldIsWritten checks that every field of a record is in its line, under the name in its tag.
func TestEveryFieldIsWritten(t *testing.T) {
	var r Record
	for v, i := reflect.ValueOf(&r).Elem(), 0; i < v.NumField(); i++ {
		switch f := v.Field(i); f.Kind() {
		case reflect.String:
			f.SetString(v.Type().Field(i).Name)
		case reflect.Bool:
			f.SetBool(true)
		case reflect.Uint64:
			f.SetUint(7)
		case reflect.Int:
			f.SetInt(7)
		case reflect.Float64:
			f.SetFloat(7.5)
		}
	}
	r.Time = time.Date(2026, 2, 3, 4, 5, 6, 7, time.UTC)
	r.Arguments, r.Presence = []byte(`{"a":1}`), json.RawMessage(`{"p":1}`)
	r.Subjects = []Subject{{Tool: "t", Kind: "k", Value: "v", Action: "allow", Rule: "r", Risk: "WRITE"}}
	line := r.AppendJSON(nil)
	got, err := decode(line)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, r) {
		t.Errorf("%s\nis read as\n%+v, want\n%+v", line, got, r)
	}
}
