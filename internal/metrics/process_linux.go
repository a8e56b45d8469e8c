package metrics

import (
	"bytes"
	"os"
	"strconv"
	"strings"
)

// ticks are those of the kernel's clock in a second, as programs see them.
const ticks = 100

// ofThisSystem reads what /proc alone tells.
func (u *used) ofThisSystem() {
	if stat, err := os.ReadFile("/proc/self/stat"); err == nil {
		// The fields behind the program's name, which can hold anything, begin with the third.
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		field := func(number int, factor float64) *float64 {
			if number-3 >= len(fields) {
				return nil
			}
			return scaled(string(fields[number-3]), factor)
		}
		u.virtual, u.resident = field(23, 1), field(24, float64(os.Getpagesize()))
		if after, boot := field(22, 1.0/ticks), booted(); after != nil && boot != nil {
			u.started = new(*boot + *after)
		}
	}
	u.received, u.transmit = traffic()
}

func scaled(text string, factor float64) *float64 {
	value, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nil
	}
	return new(value * factor)
}

// booted is when the machine started.
func booted() *float64 {
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return nil
	}
	_, rest, _ := strings.Cut(string(stat), "\nbtime ")
	line, _, _ := strings.Cut(rest, "\n")
	return scaled(line, 1)
}

// traffic is what came and went in the network namespace of the process: a line of names, and one of numbers.
func traffic() (in, out *float64) {
	text, err := os.ReadFile("/proc/self/net/netstat")
	if err != nil {
		return nil, nil
	}
	var names []string
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0] != "IpExt:" {
			continue
		}
		if names == nil {
			names = fields
			continue
		}
		for i, name := range names[:min(len(names), len(fields))] {
			switch name {
			case "InOctets":
				in = scaled(fields[i], 1)
			case "OutOctets":
				out = scaled(fields[i], 1)
			}
		}
	}
	return in, out
}
