package inspect

import (
	"math"
	"strconv"
	"strings"

	"callgate/shellparse/internal/walk"
	"callgate/shellparse/internal/word"
	"callgate/shellparse/programs"
)

// endlessDevices lists devices that never end.
var endlessDevices = word.Set("/dev/zero /dev/full /dev/random /dev/urandom")

// inputLimits maps programs to the options that limit how much they read.
var inputLimits = map[string][]string{"head": {"-c", "--bytes", "-n", "--lines"}, "od": {"-N", "--read-bytes"}, "xxd": {"-l", "-len"},
	"hexdump": {"-n", "--length"}, "hexyl": {"-n", "--length"}, "shuf": {"-n", "--head-count"}}

// fillsDisk is a number of bytes, lines or numbers that fills a disk.
const fillsDisk = 1 << 30

// limitsInput reports whether an option limits a program to less input than fills a disk. By default head takes ten
// lines.
func limitsInput(c *walk.Call) bool {
	for _, option := range inputLimits[c.Name] {
		if v, ok := c.Words.Find(option); ok {
			digits := strings.TrimRight(v.Text, "kKMBi")
			n, err := strconv.ParseUint(digits, 0, 64)
			return v.Known && err == nil && n < fillsDisk && (len(digits) == len(v.Text) || n < 1000)
		}
	}
	return c.Name == "head"
}

// endless records that a command writes enough to fill a disk, unless head stands after it in the pipe.
func endless(c *walk.Call) {
	if c.Sc.Bounded && len(c.Writes) == 0 {
		return
	}
	random, _ := c.Words.Find("--random-source")
	for _, f := range c.Reads {
		if f.Path.Known && endlessDevices[f.Path.Value] && f.Path.Value != random.Text && !limitsInput(c) && !c.Is(programs.OnlyNames|programs.Control) {
			c.Effect("reads " + f.Path.Value + " without end")
		}
	}
	_, repeats := c.Words.Find("-r", "--repeat")
	switch {
	case c.Name == "yes", c.Name == "shuf" && repeats && !limitsInput(c):
		c.Effect("writes without end")
	case c.Name == "seq", c.Name == "openssl" && len(c.Argv) > 2 && c.Argv[1].Text == "rand":
		for _, w := range c.Argv[1:] {
			if n, err := strconv.ParseFloat(w.Text, 64); w.Known && err == nil && math.Abs(n) > fillsDisk {
				c.EffectAt("writes without end", w)
			}
		}
	}
}
