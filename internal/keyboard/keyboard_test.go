package keyboard

import (
	"context"
	"errors"
	"strings"
	"testing"
)

func TestRead(t *testing.T) {
	for _, tt := range []struct {
		typed, want, shown string
		err                error
	}{
		{typed: "yes\rls", want: "yes", shown: "yes\r\n"},
		{typed: "y\n", want: "y", shown: "y\r\n"},
		{typed: "né\x7fo\x08\x08y\r", want: "y", shown: "né\b \bo\b \b\b \by\r\n"},
		{typed: "ab\x15c\r", want: "c", shown: "ab\b \b\b \bc\r\n"},
		{typed: "\x7f\x1by\r", want: "y", shown: "y\r\n"},
		{typed: "\x03y\r", err: context.Canceled, shown: "^C\r\n"},
		{typed: "y\x03\r", err: context.Canceled, shown: "y^C\r\n"},
		{typed: "\x04", shown: "\r\n"},
		{typed: "cut", want: "cut", shown: "cut"},
	} {
		var shown strings.Builder
		got, err := read(strings.NewReader(tt.typed), &shown)
		if got != tt.want || !errors.Is(err, tt.err) || shown.String() != tt.shown {
			t.Errorf("%q: %q, %v, shown %q", tt.typed, got, err, shown.String())
		}
	}
}
