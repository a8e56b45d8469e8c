package chat

import (
	"errors"
	"reflect"
	"testing"

	"callgate/gate"
)

func TestSpoken(t *testing.T) {
	for result, want := range map[string]string{
		`{"role":"assistant","content":{"type":"text","text":"Hi"}}`:                                      "Hi",
		`{"content":[{"type":"text","text":"a"},{"type":"image","data":"x"},{"type":"text","text":"b"}]}`: "ab",
		`{"content":{"type":"text","text":"Hi"},"usage":"much"}`:                                          "Hi",
		`{"content":{"type":"image","data":"x"}}`:                                                         "", `{"content":[]}`: "", `{}`: "", `null`: "", `{"content":"Hi"}`: "",
	} {
		got, err := Read([]byte(result))
		if got.Text != want || (want == "") != errors.Is(err, gate.ErrUnavailable) {
			t.Errorf("%s: %+v, %v", result, got, err)
		}
	}
}

func TestSpokenUsage(t *testing.T) {
	for usage, want := range map[string]*Usage{
		`"usage":{"tokens":12,"cost":0.5}`:                   {12, 0.5},
		`"usage":{"totalTokens":12}`:                         {12, 0},
		`"usage":{"input_tokens":10,"output_tokens":2}`:      {12, 0},
		`"usage":{"promptTokens":10,"completionTokens":2}`:   {12, 0},
		`"_meta":{"usage":{"total_tokens":3,"cost":"free"}}`: {3, 0},
		`"usage":{"cost":0.25}`:                              {0, 0.25},
		`"usage":{"tokens":-1}`:                              nil,
		`"usage":{"tokens":"12"}`:                            nil,
		`"usage":[12]`:                                       nil,
		`"usage":null`:                                       nil,
		`"x":1`:                                              nil,
	} {
		got, err := Read([]byte(`{"content":{"type":"text","text":"Hi"},` + usage + `}`))
		if err != nil || !reflect.DeepEqual(got.Usage, want) {
			t.Errorf("%s: %+v, %v", usage, got.Usage, err)
		}
	}
}
