package command

import (
	"fmt"
	"sync"
	"testing"

	"callgate/internal/testserver/built"
	"callgate/internal/testserver/unraced"
)

// elsewhere runs the whole test in a process without the race detector, if this process has it, and reports whether it
// did. It is for tests with expensive hosts and servers, whose callgate is a separate process. The stories and the
// tests of packages look for races in callgate.
func elsewhere(t *testing.T) bool {
	t.Helper()
	if !unraced.Raced {
		return false
	}
	bin := servers(t)
	program, err := buildUnraced()
	if err != nil {
		t.Fatal(err)
	}
	unraced.Run(t, program, []string{builtServers + "=" + bin}, fmt.Sprintf("-update=%t", *updatePages))
	return true
}

var buildUnraced = sync.OnceValues(func() (string, error) {
	bin, err := buildServers()
	if err != nil {
		return "", err
	}
	return built.Tests(bin)
})
