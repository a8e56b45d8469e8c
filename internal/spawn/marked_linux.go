package spawn

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// endMarked kills what carries the mark of the tree, wherever it has gone. One that is forked meanwhile is met by the
// next round.
func (t *Tree) endMarked() {
	if t.mark == "" {
		return
	}
	for range 10 {
		found := marked(t.mark)
		for _, pid := range found {
			if err := unix.Kill(pid, unix.SIGKILL); err != nil && err != unix.ESRCH {
				t.log.Error("what a program left behind cannot be ended", "process", pid, "error", err)
				return
			}
		}
		if len(found) == 0 {
			return
		}
	}
}

// marked lists the processes with the variable in their environment. A dead one has none.
func marked(mark string) (pids []int) {
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		return nil
	}
	for _, file := range files {
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil || pid == os.Getpid() {
			continue
		}
		if text, err := os.ReadFile(file); err == nil && bytes.Contains(append([]byte{0}, text...), []byte("\x00"+mark+"\x00")) {
			pids = append(pids, pid)
		}
	}
	return pids
}
