//go:build unix

package config

import (
	"log/slog"
	"strings"
	"testing"
)

// TestClusterKey reads the key from each possible source. Errors say what is wrong, but never what was printed.
func TestClusterKey(t *testing.T) {
	const secret = "a secret of a test that is long enough"
	t.Setenv("KEY_OF_A_TEST", secret)
	for what, one := range map[string]struct {
		c     clusterConfig
		wrong string
	}{
		"variable":       {clusterConfig{KeyVariable: "KEY_OF_A_TEST"}, ""},
		"no variable":    {clusterConfig{KeyVariable: "NOT_SET_IN_A_TEST"}, "NOT_SET_IN_A_TEST"},
		"command":        {clusterConfig{KeyCommand: []string{"printenv", "KEY_OF_A_TEST"}}, ""},
		"fails":          {clusterConfig{KeyCommand: []string{"sh", "-c", "echo a-leak-of-a-key; echo a-leak-of-a-key >&2; exit 3"}}, "code 3"},
		"no shell":       {clusterConfig{KeyCommand: []string{"printenv KEY_OF_A_TEST"}}, "keyCommand"},
		"too short":      {clusterConfig{KeyCommand: []string{"echo", "a-leak-of-a-key"}}, "characters"},
		"prints nothing": {clusterConfig{KeyCommand: []string{"true"}}, "no secret"},
		"prints much":    {clusterConfig{KeyCommand: []string{"sh", "-c", "head -c 70000 /dev/zero | tr '\\0' x"}}, "more than"},
	} {
		_, err := one.c.readKey(slog.New(slog.DiscardHandler))
		if (err == nil) != (one.wrong == "") || err != nil && (!strings.Contains(err.Error(), one.wrong) || strings.Contains(err.Error(), "a-leak")) {
			t.Errorf("%s: %v", what, err)
		}
	}
	c := clusterConfig{URL: "embedded", Name: "a", Lease: 10e9, Key: "file", KeyCommand: []string{"true"}}
	if err := c.validate(); err == nil || !strings.Contains(err.Error(), "one of") {
		t.Errorf("two keys: %v", err)
	}
}
