package guard

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Offsets in the kernel's seccomp_data. All supported architectures store the low half of an argument first.
const (
	atNumber = 0
	atArch   = 4
	atFirst  = 16 // the low half of the first argument
	atSecond = 16 + 8
	atThird  = 16 + 16
	atFourth = 16 + 24
)

// ioctls lists the number of ioctl for each architecture, including those that a 64-bit kernel also runs.
var ioctls = []struct{ arch, number uint32 }{
	{unix.AUDIT_ARCH_X86_64, 16},
	{unix.AUDIT_ARCH_X86_64, 0x40000000 + 514}, // x32
	{unix.AUDIT_ARCH_I386, 54},
	{unix.AUDIT_ARCH_AARCH64, 29},
	{unix.AUDIT_ARCH_ARM, 54},
	{unix.AUDIT_ARCH_RISCV64, 29},
}

// Instructions of a filter.
func load(at uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: at}
}

func equal(value uint32, yes, no uint8) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: value, Jt: yes, Jf: no}
}

func end(what uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: what}
}

const refuse = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)

// denyTerminalInput refuses the ioctls that put text into a terminal as if a person had typed it.
func denyTerminalInput() error {
	var program []unix.SockFilter
	for _, c := range ioctls { // eight instructions each; what does not match goes on with the next
		program = append(program,
			load(atArch), equal(c.arch, 0, 6),
			load(atNumber), equal(c.number, 0, 4),
			load(atSecond), equal(unix.TIOCSTI, 1, 0), equal(unix.TIOCLINUX, 0, 1),
			end(refuse),
		)
	}
	return filter(append(program, end(unix.SECCOMP_RET_ALLOW)))
}

// nativeArch returns the kernel's number for the architecture that this program is built for.
func nativeArch() (uint32, error) {
	if arch := map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64, "riscv64": unix.AUDIT_ARCH_RISCV64}[runtime.GOARCH]; arch != 0 {
		return arch, nil
	}
	return 0, fmt.Errorf("no system call filter is known for %s", runtime.GOARCH)
}

// restrictSockets refuses what Landlock has no rules for: listening sockets, ways around system calls, and all sockets
// but those that query the kernel about its network. tcp allows TCP sockets too.
func restrictSockets(tcp bool) error {
	native, err := nativeArch()
	if err != nil {
		return err
	}
	program := []unix.SockFilter{load(atArch), equal(native, 1, 0), end(refuse)}
	if runtime.GOARCH == "amd64" { // the numbers of x32
		program = append(program, load(atNumber), unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K, K: 0x40000000, Jt: 0, Jf: 1}, end(refuse))
	}
	for _, number := range []uint32{unix.SYS_LISTEN, unix.SYS_IO_URING_SETUP} {
		program = append(program, load(atNumber), equal(number, 0, 1), end(refuse))
	}
	for _, c := range []struct{ number, flags uint32 }{{unix.SYS_SENDTO, atFourth}, {unix.SYS_SENDMSG, atThird}, {unix.SYS_SENDMMSG, atFourth}} { // which can connect too
		program = append(program, load(atNumber), equal(c.number, 0, 3),
			load(c.flags), unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, K: unix.MSG_FASTOPEN, Jt: 0, Jf: 1}, end(refuse))
	}
	program = append(program, load(atNumber), equal(unix.SYS_SOCKET, 1, 0), end(unix.SECCOMP_RET_ALLOW), load(atFirst))
	if tcp { // ten instructions; other families skip them
		program = append(program, equal(unix.AF_INET, 1, 0), equal(unix.AF_INET6, 0, 8),
			load(atSecond), unix.SockFilter{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: 0xf}, equal(unix.SOCK_STREAM, 0, 3),
			load(atThird), equal(0, 2, 0), equal(unix.IPPROTO_TCP, 1, 0),
			end(refuse), end(unix.SECCOMP_RET_ALLOW))
	}
	program = append(program, equal(unix.AF_NETLINK, 0, 2), load(atThird), equal(unix.NETLINK_ROUTE, 1, 0), end(refuse), end(unix.SECCOMP_RET_ALLOW))
	return filter(program)
}

// filter makes the kernel judge every later system call with a BPF program.
func filter(program []unix.SockFilter) error {
	p := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	if err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&p)), 0, 0); err != nil {
		return fmt.Errorf("set a system call filter: %w", err)
	}
	return nil
}
