package startup

import (
	"os"
	"runtime/debug"
	"testing"

	"callgate/internal/testserver/waits"
)

func TestWhatIsUsualHoldsOnceTheProgramHasStarted(t *testing.T) {
	if os.Getenv("GOGC") != "" {
		t.Skip("GOGC is set")
	}
	now := func() int {
		percent := debug.SetGCPercent(usual)
		debug.SetGCPercent(percent)
		return percent
	}
	waits.Until(t, "Go's own percentage holds", func() bool { return now() == usual })
}
