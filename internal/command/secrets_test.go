package command

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// The line end does not count towards the limit.
func TestReadSecret(t *testing.T) {
	full := strings.Repeat("x", maxSecret)
	for text, want := range map[string]string{"a b\n": "a b", full: full, full + "\n": full, full + "\r\n": full, full + "x\n": "", full + "\n\n\n\nx": ""} {
		cmd := &cobra.Command{}
		cmd.SetIn(strings.NewReader(text))
		if got, err := readSecret(cmd); (err == nil) != (want != "") || err == nil && got != want {
			t.Errorf("of %d bytes, %d are read: %v", len(text), len(got), err)
		}
	}
}
