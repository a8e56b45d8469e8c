package guard

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// cgroup is a cgroup v2 group that bounds all processes of a program together. nil means no group.
type cgroup struct {
	dir   string
	procs *os.File // a process joins when its id is written here
}

// cgroups is where groups can be made.
type cgroups struct {
	mount string // where cgroup v2 is mounted
	own   string // callgate's group below mount
}

// groups counts the groups that this process has made, for their names.
var groups atomic.Uint64

// delegated finds the cgroup of this process. The error says why it can make no group.
func delegated() (*cgroups, error) {
	const mount = "/sys/fs/cgroup"
	var fs unix.Statfs_t
	if err := unix.Statfs(mount, &fs); err != nil || fs.Type != unix.CGROUP2_SUPER_MAGIC {
		return nil, errors.New("this system has no cgroup v2 alone")
	}
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil, err
	}
	own, ok := strings.CutPrefix(strings.TrimSpace(string(text)), "0::/")
	if !ok || strings.Contains(own, "..") || strings.Contains(own, "\n") {
		return nil, errors.New("this process is in no group of cgroup v2 that it can see")
	}
	return &cgroups{mount, own}, nil
}

// group makes a group with the limits that a group can hold. It goes into callgate's group, or into the nearest group
// above that delegates the controllers and that this user may change. Groups left behind by killed callgates are
// removed.
func (c *cgroups) group(l *Limits) (*cgroup, error) {
	values := map[string]string{}
	var controllers []string
	if l.Memory > 0 {
		controllers = append(controllers, "memory")
		values["memory.max"], values["memory.swap.max"], values["memory.oom.group"] = strconv.FormatInt(l.Memory, 10), "0", "1"
	}
	if l.Processes > 0 {
		controllers = append(controllers, "pids")
		values["pids.max"] = strconv.Itoa(l.Processes)
	}
	why := errors.New("no cgroup that this user may change delegates memory and pids")
	for at := filepath.Join("/", c.own); ; at = filepath.Dir(at) {
		dir := filepath.Join(c.mount, at)
		on, err := os.ReadFile(filepath.Join(dir, "cgroup.subtree_control"))
		if handed := strings.Fields(string(on)); err == nil && !slices.ContainsFunc(controllers, func(name string) bool { return !slices.Contains(handed, name) }) {
			g, err := makeGroup(dir, values)
			if err == nil {
				return g, nil
			}
			why = err
		}
		if at == "/" {
			return nil, why
		}
	}
}

// makeGroup makes a group in dir. memory.swap.max is missing if the kernel does not count swap.
func makeGroup(dir string, values map[string]string) (*cgroup, error) {
	left, _ := filepath.Glob(filepath.Join(dir, "callgate-*-*")) // the pattern is valid
	for _, old := range left {
		if pid, err := strconv.Atoi(strings.Split(filepath.Base(old), "-")[1]); err == nil && errors.Is(unix.Kill(pid, 0), unix.ESRCH) {
			_ = os.Remove(old) // it stays while it has members
		}
	}
	g := &cgroup{dir: filepath.Join(dir, fmt.Sprintf("callgate-%d-%d", os.Getpid(), groups.Add(1)))}
	if err := os.Mkdir(g.dir, 0o755); err != nil {
		return nil, err
	}
	for name, value := range values {
		if err := os.WriteFile(filepath.Join(g.dir, name), []byte(value), 0o600); err != nil && name != "memory.swap.max" {
			g.remove()
			return nil, err
		}
	}
	var err error
	if g.procs, err = os.OpenFile(filepath.Join(g.dir, "cgroup.procs"), os.O_WRONLY|os.O_CREATE, 0o600); err != nil {
		g.remove()
		return nil, err
	}
	return g, nil
}

// remove removes the group, which MUST be empty. It does nothing for nil.
func (g *cgroup) remove() {
	if g == nil {
		return
	}
	if g.procs != nil {
		g.procs.Close() // nothing more will be written
	}
	_ = os.Remove(g.dir) // a later start tries again
}
