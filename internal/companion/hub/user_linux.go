package hub

import (
	"bytes"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

func peerOf(fd int) (uid, pid int, err error) {
	peer, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return 0, 0, err
	}
	return int(peer.Uid), int(peer.Pid), nil
}

// stopped reports whether a process is stopped (SIGSTOP, Ctrl-Z). It returns false if this process cannot see it.
func stopped(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)) // "PID (NAME) STATE …"; the name may hold anything
	state := stat[bytes.LastIndexByte(stat, ')')+1:]
	return err == nil && (bytes.HasPrefix(state, []byte(" T")) || bytes.HasPrefix(state, []byte(" t")))
}
