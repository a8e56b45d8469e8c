package proxy

import (
	"errors"
	"testing"

	"callgate/gate"
)

func TestSpoken(t *testing.T) {
	for result, want := range map[string]string{
		`{"role":"assistant","content":{"type":"text","text":"Hi"}}`:                                      "Hi",
		`{"content":[{"type":"text","text":"a"},{"type":"image","data":"x"},{"type":"text","text":"b"}]}`: "ab",
		`{"content":{"type":"image","data":"x"}}`:                                                         "", `{"content":[]}`: "", `{}`: "", `null`: "", `{"content":"Hi"}`: "",
	} {
		got, err := spoken([]byte(result))
		if got != want || (want == "") != errors.Is(err, gate.ErrAnswer) {
			t.Errorf("%s: %q, %v", result, got, err)
		}
	}
}
