package proxy

import (
	"encoding/json"
	"strings"
	"testing"

	"callgate/internal/rpc"
	"callgate/proxy/internal/limits"
)

func TestCut(t *testing.T) {
	long := strings.Repeat("ä", 500)
	for name, c := range map[string]struct {
		result string
		max    int
		want   []string // in the rest
		not    []string
	}{
		"fits":       {`{"content":[],"x":1.0}`, 100, []string{`{"content":[],"x":1.0}`}, []string{"callgate"}},
		"no bound":   {`{"content":[{"type":"text","text":"` + long + `"}]}`, 0, []string{long}, []string{"callgate"}},
		"text":       {`{"content":[{"type":"text","text":"` + long + `"}]}`, 201, []string{strings.Repeat("ä", 100), "The text above is cut."}, []string{strings.Repeat("ä", 101), "isError", "left out"}},
		"error":      {`{"isError":true,"content":[{"type":"text","text":"` + long + `"}]}`, 100, []string{`"isError":true`}, nil},
		"image":      {`{"content":[{"type":"text","text":"see"},{"type":"image","data":"` + long + `"},{"type":"text","text":"end"}]}`, 100, []string{`"text":"see"`, "1 more parts"}, []string{"image", "isError"}},
		"structured": {`{"content":[{"type":"text","text":"a"}],"structuredContent":{"x":"` + long + `"}}`, 100, []string{`"text":"a"`, "The structured content is left out.", `"isError":true`}, []string{"structuredContent"}},
		"no content": {`{"y":"` + long + `"}`, 100, []string{`{"content":[{"type":"text","text":"callgate: the result had `}, nil},
		"malformed":  {`{"content":{"y":"` + long + `"}}`, 100, []string{`{"content":[{"type":"text","text":"callgate: the result had `}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := rpc.Parse(rpc.Result([]byte("7"), []byte(c.result)))
			if err != nil {
				t.Fatal(err)
			}
			got := limits.Limited(m, Bounds{MaxResult: c.max}, "s")
			if string(got.ID) != "7" || !json.Valid(got.Raw) {
				t.Fatalf("%s", got.Raw)
			}
			for _, w := range c.want {
				if !strings.Contains(string(got.Result), w) {
					t.Errorf("%q is not in %s", w, got.Result)
				}
			}
			for _, w := range c.not {
				if strings.Contains(string(got.Result), w) {
					t.Errorf("%q is in %s", w, got.Result)
				}
			}
			if c.max > 0 && len(got.Result) > len(c.result) && len(c.result) > c.max+600 {
				t.Errorf("%d bytes are more than before", len(got.Result))
			}
		})
	}
}

func FuzzCut(f *testing.F) {
	f.Add([]byte(`{"content":[{"type":"text","text":"abc\ud83d\ude80"},{"type":"x"}],"structuredContent":1}`), 10)
	f.Fuzz(func(t *testing.T, result []byte, limit int) {
		m, err := rpc.Parse(rpc.Result([]byte("1"), result))
		if err != nil || limit <= 0 {
			return
		}
		if got := limits.Limited(m, Bounds{MaxResult: limit}, "s"); len(result) > limit && !json.Valid(got.Result) {
			t.Errorf("%s is cut to %s", result, got.Result)
		} else if len(got.Result) > len(m.Result) && len(got.Result) > limit+600 {
			t.Errorf("%d bytes became %d", len(m.Result), len(got.Result))
		}
	})
}
