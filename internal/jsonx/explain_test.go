package jsonx_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"callgate/internal/jsonx"
)

func TestExplainNamesNoLibrary(t *testing.T) {
	for text, want := range map[string]string{
		``:               "invalid JSON: it ends too early",
		`{"name":"x"`:    "invalid JSON: it ends too early",
		`{"name":x}`:     "invalid JSON at byte 8: invalid character 'x' at start of value",
		`{"name":1}`:     `"name" has a value of the wrong type`,
		`{"nam":"x"}`:    `unknown key "nam"`,
		`{"in":{"b":1}}`: `unknown key "in.b"`,
		`[]`:             "the value is of the wrong type",
	} {
		var v struct {
			Name string   `json:"name"`
			In   struct{} `json:"in"`
		}
		err := json.Unmarshal([]byte(text), &v, json.RejectUnknownMembers(true))
		if got := jsonx.Explain(err); err == nil || got.Error() != want {
			t.Errorf("%s: %v, want %s", text, got, want)
		}
	}
	if got := jsonx.Explain(errors.New("hujson: line 2, column 1: x")).Error(); strings.Contains(got, "hujson") {
		t.Error(got)
	}
}
