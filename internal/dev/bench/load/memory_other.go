//go:build !linux

package load

func memoryOf(int) (m Memory, ok bool) { return Memory{}, false }
