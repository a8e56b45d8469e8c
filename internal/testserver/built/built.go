// Package built builds the programs that tests run. They stay in bin/tests of the checkout. So a program is linked once
// for all packages that use it in tests, and again only when it changes.
package built

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"

	"callgate/internal/durable"
	"callgate/internal/testserver/waits"
)

// Programs puts the programs of main packages into a folder. Each is named after the last element of its package path.
func Programs(folder string, packages ...string) error {
	names := make([]string, len(packages))
	for i, p := range packages {
		names[i] = path.Base(p)
	}
	return build(folder, names, append([]string{"build", "-ldflags=-s -w"}, packages...)...)
}

// Tests puts the test program of the current folder's package into a folder, built without the race detector, and
// returns its path.
func Tests(folder string) (program string, err error) {
	here, err := os.Getwd()
	if err != nil {
		return "", err
	}
	name := filepath.Base(here) + ".test"
	return filepath.Join(folder, executable(name)), build(folder, []string{name}, "test", "-c", "-race=false", "-ldflags=-s -w")
}

func build(folder string, names []string, command ...string) (err error) {
	kept, err := keptPrograms()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), waits.Limit)
	defer cancel()
	unlock, err := durable.Lock(ctx, filepath.Join(kept, "lock"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	cmd := exec.Command("go", slices.Insert(command, 1, "-o", kept+string(filepath.Separator))...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0") // as in make build: compiled once for both
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", cmd, err, out)
	}
	for _, name := range names {
		// Each test gets its own copy. The go command replaces the kept file if the code changes, and otherwise updates
		// its time. A callgate whose file has another time than at its start makes room for a new one.
		if err := copied(filepath.Join(kept, executable(name)), filepath.Join(folder, executable(name))); err != nil {
			return err
		}
	}
	return nil
}

// keptPrograms returns bin/tests of the checkout that the current folder is in.
func keptPrograms() (string, error) {
	here, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := here; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			kept := filepath.Join(dir, "bin", "tests")
			return kept, os.MkdirAll(kept, 0o700)
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("no folder above %s has a go.mod", here)
		}
	}
}

// copied copies a program. No process starts meanwhile: it would inherit the copy's descriptor, and a file that is open
// for writing cannot be started.
func copied(from, to string) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o700)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

func executable(name string) string {
	if runtime.GOOS == "windows" {
		return name + ".exe"
	}
	return name
}
