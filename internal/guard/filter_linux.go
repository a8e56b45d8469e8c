package guard

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Offsets in the kernel's seccomp_data. Both architectures that matter store the low half of an argument first.
const (
	atNumber  = 0
	atArch    = 4
	atRequest = 16 + 8 // the low half of the second argument
)

// ioctls is the number of ioctl by architecture, those that a 64-bit kernel also runs included.
var ioctls = []struct{ arch, number uint32 }{
	{unix.AUDIT_ARCH_X86_64, 16},
	{unix.AUDIT_ARCH_X86_64, 0x40000000 + 514}, // x32
	{unix.AUDIT_ARCH_I386, 54},
	{unix.AUDIT_ARCH_AARCH64, 29},
	{unix.AUDIT_ARCH_ARM, 54},
	{unix.AUDIT_ARCH_RISCV64, 29},
}

// noTyping refuses the ioctls that put text into a terminal as if a person had typed it.
func noTyping() error {
	var program []unix.SockFilter
	load := func(at uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: at}
	}
	equal := func(value uint32, yes, no uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: value, Jt: yes, Jf: no}
	}
	for _, c := range ioctls { // eight instructions each; what does not fit goes on with the next
		program = append(program,
			load(atArch), equal(c.arch, 0, 6),
			load(atNumber), equal(c.number, 0, 4),
			load(atRequest), equal(unix.TIOCSTI, 1, 0), equal(unix.TIOCLINUX, 0, 1),
			unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)},
		)
	}
	program = append(program, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW})
	p := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	if err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&p)), 0, 0); err != nil {
		return fmt.Errorf("set a system call filter: %w", err)
	}
	return nil
}
