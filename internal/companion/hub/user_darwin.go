package hub

import "golang.org/x/sys/unix"

func peerOf(fd int) (uid, pid int, err error) {
	peer, err := unix.GetsockoptXucred(fd, unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
	if err != nil {
		return 0, 0, err
	}
	pid, _ = unix.GetsockoptInt(fd, unix.SOL_LOCAL, unix.LOCAL_PEERPID)
	return int(peer.Uid), pid, nil
}

// stoppedState is SSTOP of sys/proc.h.
const stoppedState = 4

// stopped reports whether a process is stopped (SIGSTOP, Ctrl-Z). It returns false if this process cannot see it.
func stopped(pid int) bool {
	process, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	return err == nil && process.Proc.P_stat == stoppedState
}
