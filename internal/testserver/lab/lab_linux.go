package lab

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// place is the variable that tells a process that it is the inside of a lab, and where to make its root.
const place = "CALLGATE_LAB"

// setup is the first message to the inside of a lab.
type setup struct {
	Files   map[string]string
	Prepare [][]string
}

// New makes a lab with these files, which ends with the test. The commands of prepare run in it once, and the files
// that they make stay. New skips a test that cannot have its own namespaces.
func New(t testing.TB, files map[string]string, prepare ...[]string) *Lab {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), place+"="+dir)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS | syscall.CLONE_NEWNET | syscall.CLONE_NEWPID | syscall.CLONE_NEWIPC,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Skipf("no namespaces: %v", err)
	}
	l := &Lab{cmd: cmd, in: json.NewEncoder(in), out: json.NewDecoder(out), end: in}
	t.Cleanup(func() {
		_ = l.end.Close() // the inside ends, and takes its mounts along
		_ = cmd.Wait()
	})
	var ready result
	if l.in.Encode(setup{files, prepare}) != nil || l.out.Decode(&ready) != nil {
		t.Fatal("the lab did not start")
	}
	if ready.Error != "" {
		t.Skip(ready.Error)
	}
	return l
}

// Main is called by the TestMain of a package whose tests use a lab: the test binary is also the inside of the lab, and
// the program that stands in for the shell there.
func Main() {
	switch filepath.Base(os.Args[0]) {
	case "sh", "dash", "bash", "canary":
		if f, err := os.OpenFile("/trace", os.O_WRONLY|os.O_APPEND, 0); err == nil {
			_, _ = fmt.Fprintf(f, "ran %q\n", os.Args)
		}
		_, _ = os.Stdout.WriteString("canary\n") // a shell that only prints this has left its trace too
		os.Exit(0)
	}
	if root := os.Getenv(place); root != "" {
		os.Exit(inside(root))
	}
}

func inside(root string) int {
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	var s setup
	if err := in.Decode(&s); err != nil {
		return 1
	}
	i := &inner{files: s.Files}
	err := build(root)
	for n := 0; err == nil && n < len(s.Prepare); n++ {
		err = i.prepare(s.Prepare[n])
	}
	if err != nil {
		_ = out.Encode(result{Error: "no lab: " + err.Error()})
		return 1
	}
	if out.Encode(result{}) != nil {
		return 1
	}
	for {
		var j job
		if err := in.Decode(&j); err != nil {
			if errors.Is(err, io.EOF) {
				return 0
			}
			return 1
		}
		r, err := i.run(j.Argv)
		if err != nil {
			r.Error = err.Error()
		}
		if out.Encode(r) != nil {
			return 1
		}
	}
}

// build makes a root that holds the system's programs, read-only, and nothing else, and enters it.
func build(root string) error {
	self, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return err
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	if err := unix.Mount("lab", root, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "size=64m"); err != nil {
		return err
	}
	if err := showPrograms(root); err != nil {
		return err
	}
	for _, dir := range []string{"/dev", "/tmp", "/run", "/home", "/bin2"} {
		if err := os.MkdirAll(root+dir, 0o755); err != nil {
			return err
		}
	}
	for _, f := range []string{"/dev/null", "/trace", "/bin2/canary", "/bin2/shell"} {
		if err := os.WriteFile(root+f, nil, 0o755); err != nil {
			return err
		}
	}
	if err := unix.Mount("/dev/null", root+"/dev/null", "", unix.MS_BIND, ""); err != nil {
		return err
	}
	if err := setTraps(self, root); err != nil {
		return err
	}
	if err := unix.Chroot(root); err != nil {
		return err
	}
	return os.Chdir("/run")
}

// showPrograms makes the folders of the system's programs visible below root.
func showPrograms(root string) error {
	for name := range strings.FieldsSeq("/usr /bin /sbin /lib /lib32 /lib64 /libx32 /etc/alternatives") {
		info, err := os.Lstat(name)
		if err != nil {
			continue
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			target, err := os.Readlink(name)
			if err == nil {
				err = os.Symlink(target, root+name)
			}
			if err != nil {
				return err
			}
			continue
		}
		if err := os.MkdirAll(root+name, 0o755); err != nil {
			return err
		}
		if err := bind(name, root+name); err != nil {
			return err
		}
	}
	return nil
}

// setTraps puts the lab's own shell below root. Every other shell there becomes a trap, which records that a program
// started one.
func setTraps(self, root string) error {
	bash, err := exec.LookPath("bash")
	if err != nil {
		return err
	}
	if err := bind(bash, root+"/bin2/shell"); err != nil {
		return err
	}
	traps := []string{root + "/bin2/canary"}
	for _, name := range []string{"sh", "bash", "dash"} {
		if p, err := filepath.EvalSymlinks("/bin/" + name); err == nil {
			traps = append(traps, root+p)
		}
	}
	for _, p := range traps {
		if err := bind(self, p); err != nil {
			return err
		}
	}
	return nil
}

// bind makes a file or a folder visible in another place, read-only.
func bind(from, to string) error {
	if err := unix.Mount(from, to, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	var st unix.Statfs_t
	if err := unix.Statfs(to, &st); err != nil {
		return err
	}
	flags := uintptr(st.Flags) & (unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC | unix.MS_NOATIME | unix.MS_NODIRATIME)
	if st.Flags&unix.ST_RELATIME != 0 {
		flags |= unix.MS_RELATIME
	}
	if err := unix.Mount("", to, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY|flags, ""); err != nil {
		return fmt.Errorf("%s for reading: %w", from, err)
	}
	return nil
}

// inner is the inside of a lab.
type inner struct{ files map[string]string }

func (i *inner) command(argv []string) *exec.Cmd {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = "/run"
	cmd.Env = []string{"PATH=/bin2:/usr/local/bin:/usr/bin:/bin", "HOME=/home", "LC_ALL=C.UTF-8", "SECRET=" + Secret}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

// prepare runs a command and keeps the files that it makes.
func (i *inner) prepare(argv []string) error {
	if err := i.reset(); err != nil {
		return err
	}
	if out, err := i.command(argv).CombinedOutput(); err != nil {
		return fmt.Errorf("%q: %w: %s", argv, err, out)
	}
	files, err := look("/run")
	i.files = files
	return err
}

// look returns the files below a folder: their contents, or their type if they are not regular.
func look(dir string) (map[string]string, error) {
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if d.Type().IsRegular() {
			data, err := os.ReadFile(path)
			files[name] = string(data)
			return err
		}
		files[name] = d.Type().String()
		return nil
	})
	return files, err
}

// reset restores the folders to their state before every command.
func (i *inner) reset() error {
	for _, dir := range []string{"/run", "/tmp", "/home"} {
		list, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		for _, d := range list {
			if err := os.RemoveAll(filepath.Join(dir, d.Name())); err != nil {
				return err
			}
		}
	}
	for name, text := range i.files {
		if err := os.WriteFile(filepath.Join("/run", name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return os.Truncate("/trace", 0)
}

// maxOutput bounds how much of a command's output is read; a command that prints more ends then.
const maxOutput = 64 << 10

func (i *inner) run(argv []string) (r result, err error) {
	if err := i.reset(); err != nil {
		return r, err
	}
	if argv[0] == "bash" {
		argv = append([]string{"/bin2/shell"}, argv[1:]...)
	}
	cmd := i.command(argv)
	read, write, err := os.Pipe()
	if err != nil {
		return r, err
	}
	cmd.Stdout, cmd.Stderr = write, write
	if err := cmd.Start(); err != nil {
		return r, err
	}
	_ = write.Close()
	// A program may run forever. What it has left behind until then is checked.
	stop := time.AfterFunc(300*time.Millisecond, func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	output, _ := io.ReadAll(io.LimitReader(read, maxOutput)) // whatever was read is checked
	_ = read.Close()
	_ = cmd.Wait() // how it ends does not matter
	stop.Stop()
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // the group is usually gone
	r.Output = string(output)
	if bytes.Contains(output, []byte(Secret)) {
		r.Traces = append(r.Traces, "printed the secret")
	}
	trace, err := os.ReadFile("/trace")
	if err != nil {
		return r, err
	}
	if len(trace) > 0 {
		r.Traces = append(r.Traces, string(trace))
	}
	for _, dir := range []string{"/run", "/tmp", "/home"} {
		files, err := look(dir)
		if err != nil {
			return r, err
		}
		for name, text := range files {
			if was, ok := i.files[name]; dir != "/run" || !ok || was != text {
				r.Traces = append(r.Traces, "wrote "+dir+"/"+name)
			}
		}
		for name := range i.files {
			if _, ok := files[name]; dir == "/run" && !ok {
				r.Traces = append(r.Traces, "removed "+name)
			}
		}
	}
	return r, nil
}
