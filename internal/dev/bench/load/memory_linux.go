package load

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
)

func memoryOf(pid int) (m Memory, ok bool) {
	file, err := os.Open(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return Memory{}, false
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		key, value, _ := strings.Cut(lines.Text(), ":")
		kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
		if err != nil {
			continue
		}
		switch key {
		case "VmRSS":
			m.Now = kib << 10
		case "VmHWM":
			m.Peak = kib << 10
		}
	}
	return m, m.Now > 0 && m.Peak > 0
}
