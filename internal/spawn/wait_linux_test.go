package spawn

import (
	"log/slog"
	"os"
	"os/exec"
	"testing"
)

// Running programs hold no threads, and their ends are noticed.
func TestProgramsTakeNoThreads(t *testing.T) {
	const programs = 24
	threads := func() int {
		tasks, err := os.ReadDir("/proc/self/task")
		if err != nil {
			t.Fatal(err)
		}
		return len(tasks)
	}
	before := threads()
	for range programs {
		tree, err := Plant(slog.New(slog.DiscardHandler), nil)
		if err == nil {
			err = tree.Start(&exec.Cmd{Path: "/bin/sleep", Args: []string{"sleep", "600"}})
		}
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			tree.Release()
			<-tree.Ended()
		}()
	}
	if more := threads() - before; more > programs/2 {
		t.Errorf("%d programs take %d threads", programs, more)
	}
}
