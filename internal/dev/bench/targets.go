package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// target is one way to reach the echo server.
type target struct {
	name    string
	command []string
	reset   func() error // restores the state before the very first start; nil if there is none
	rounds  []figures
}

// allowAll is the permissions file of the measured worker: the gate judges every call and allows it.
const allowAll = `{ "*": "allow" }`

// findTargets lists what can be measured with the programs in bin. It leaves out callgate if it is missing. callgate's
// files go into dir.
func findTargets(bin, dir string) ([]*target, error) {
	echo, err := program(bin, "echo")
	if err != nil {
		return nil, err
	}
	floor, err := program(bin, "floor")
	if err != nil {
		return nil, err
	}
	targets := []*target{
		{name: "direct", command: []string{echo}},
		{name: "floor", command: []string{floor, "--", echo}},
	}
	callgate, err := program(bin, "callgate")
	if errors.Is(err, fs.ErrNotExist) {
		return targets, nil
	} else if err != nil {
		return nil, err
	}

	wrapData := filepath.Join(dir, "wrap")
	runData := filepath.Join(dir, "run")
	config := filepath.Join(dir, "callgate.yaml")
	text := fmt.Sprintf("dataDir: %q\nlisten: \"off\"\nservers:\n  - name: bench\n    command: %q\n", runData, echo)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return nil, err
	}
	return append(targets,
		&target{
			name:    "callgate wrap",
			command: []string{callgate, "wrap", "--data-dir", wrapData, "--listen", "off", "--", echo},
			reset:   func() error { return freshData(wrapData) },
		},
		&target{
			name:    "callgate run",
			command: []string{callgate, "run", "--config", config},
			reset:   func() error { return freshData(runData) },
		}), nil
}

// programs returns the paths of programs in bin.
func programs(bin string, names ...string) (paths []string, err error) {
	paths = make([]string, len(names))
	for i, name := range names {
		if paths[i], err = program(bin, name); err != nil {
			return nil, err
		}
	}
	return paths, nil
}

// program returns the path of a program in bin.
func program(bin, name string) (string, error) {
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	path, err := filepath.Abs(filepath.Join(bin, name))
	if err != nil {
		return "", err
	}
	_, err = os.Stat(path)
	return path, err
}

// freshData makes dir a data directory that contains only rules that allow everything.
func freshData(dir string) error { return freshDataWith(dir, allowAll) }

func freshDataWith(dir, rules string) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	worker := filepath.Join(dir, "workers", "default")
	if err := os.MkdirAll(worker, 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(worker, "permissions.jsonc"), []byte(rules), 0o600)
}
