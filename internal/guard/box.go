package guard

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Box lists everything that a program can reach: nothing else exists for it. A program does not start if no kind of
// wall can enforce its box.
type Box struct {
	// Read and Write list files and folders by absolute path. Missing ones are left out. The program can read and
	// change those in Write. What the wall hides or fixes stays hidden or fixed inside them.
	Read, Write []string
	Net         Net
	Limits      Limits

	// Refused, if not nil, is called once for each file or folder that the program is refused when it opens, makes,
	// renames or removes it, if the kernel reports this. The path may not exist. The program waits until Refused
	// returns.
	Refused func(Access) `json:"-"`

	// Env, if not nil, returns the variables that point programs to the proxy at that address.
	Env func(proxy string) []string `json:"-"`
}

// Access is a program's attempt to use a file or a folder.
type Access struct {
	Path  string // absolute
	Write bool   // the program wanted to change, make or remove it
	Aside bool   // it was not refused: the program changed, or made, a private copy that nobody else sees
}

// Narrower reports whether b opens less than was did: whether was let the program read or change something that b does
// not.
func (b *Box) Narrower(was *Box) bool {
	holds := func(list []string, path string) bool {
		return slices.ContainsFunc(list, func(dir string) bool { return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/") })
	}
	return slices.ContainsFunc(was.Write, func(path string) bool { return !holds(b.Write, path) }) ||
		slices.ContainsFunc(was.Read, func(path string) bool { return !holds(b.Read, path) && !holds(b.Write, path) })
}

// Net is how much of the network a program in a box reaches.
type Net string

const (
	NoNet    Net = "none"
	ProxyNet Net = "proxy" // only the keeper's listener
	OpenNet  Net = "open"
)

// ParseNet parses a Net; "" means NoNet.
func ParseNet(s string) (Net, error) {
	switch n := Net(s); n {
	case "":
		return NoNet, nil
	case NoNet, ProxyNet, OpenNet:
		return n, nil
	}
	return "", fmt.Errorf("network is %q: use none, proxy or open", s)
}

// Limits bounds what a program uses; 0 means no limit. With cgroup v2, Memory and Processes bound all processes of the
// program together. Without it, Memory bounds each process; Processes bounds them together with namespaces, but never
// root's. The other limits bound each process.
type Limits struct {
	Memory    int64 // bytes of private memory, without mapped files
	FileSize  int64 // bytes of one file that the program writes
	Processes int
	OpenFiles int
	CPU       time.Duration
}
