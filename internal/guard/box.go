package guard

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Box is all that a program can reach. Nothing else exists for the program. It does not start if no kind of wall can
// enforce the box.
type Box struct {
	// Read and Write are files and folders, absolute. What does not exist is left out. Those of Write can be read and
	// changed. What the wall hides or fixes stays so in them.
	Read, Write []string
	Net         Net
	Limits      Limits

	// Refused hears which files and folders the program does not get, each once, where the kernel tells: when it opens,
	// makes, renames or removes them. They may not exist. The program waits until it returns.
	Refused func(Access) `json:"-"`

	// Env are variables that lead programs to a proxy at that address; nil is none.
	Env func(proxy string) []string `json:"-"`
}

// Access is what a program wanted to do with a file or a folder.
type Access struct {
	Path  string // absolute
	Write bool   // change, make or remove it
	Aside bool   // it was not refused: the program has changed, or made, one of its own that nobody else sees
}

// Narrower reports whether a box opens less than another did: something that could be changed or read there, and cannot
// here.
func (b *Box) Narrower(was *Box) bool {
	holds := func(list []string, path string) bool {
		return slices.ContainsFunc(list, func(dir string) bool { return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/") })
	}
	return slices.ContainsFunc(was.Write, func(path string) bool { return !holds(b.Write, path) }) ||
		slices.ContainsFunc(was.Read, func(path string) bool { return !holds(b.Read, path) && !holds(b.Write, path) })
}

// Net says what a program in a box reaches of the network.
type Net string

const (
	NoNet    Net = "none"
	ProxyNet Net = "proxy" // the listener that the keeper has, and nothing else
	OpenNet  Net = "open"
)

// ParseNet reads a Net; "" is NoNet.
func ParseNet(s string) (Net, error) {
	switch n := Net(s); n {
	case "":
		return NoNet, nil
	case NoNet, ProxyNet, OpenNet:
		return n, nil
	}
	return "", fmt.Errorf("network is %q: use none, proxy or open", s)
}

// Limits bound a program; 0 is no bound. With cgroup v2, Memory and Processes bound all of its processes together.
// Without it, Memory bounds each, and Processes all of them with namespaces, but not root's. The others bound each
// process.
type Limits struct {
	Memory    int64 // bytes of its own, without what it only maps
	FileSize  int64 // bytes of one file that is written
	Processes int
	OpenFiles int
	CPU       time.Duration
}
