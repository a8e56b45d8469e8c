//go:build linux || openbsd || solaris || aix || dragonfly

package checkpoint

import "syscall"

func changeTime(st *syscall.Stat_t) int64 { return st.Ctim.Nano() }
