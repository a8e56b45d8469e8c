// Package environment decides which variables servers' processes get from callgate's environment, and how those find
// programs.
package environment

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// ownVariables is the prefix of callgate's own variables. They may hold credentials that no server gets, not even one
// that inherits the environment.
const ownVariables = "CALLGATE_"

// Of returns the environment of a server's process: what it may have of own, callgate's environment, and then the
// configured entries. With inherit it gets everything except callgate's own variables.
func Of(own, configured []string, inherit bool) ([]string, error) {
	var env []string
	for _, entry := range own {
		name, value, _ := strings.Cut(entry, "=")
		switch {
		case strings.HasPrefix(strings.ToUpper(name), ownVariables):
		case inherit:
			env = append(env, entry)
		case passes(name) && !strings.HasPrefix(value, "()"): // a function exported by a shell is code
			env = append(env, entry)
		}
	}
	for _, entry := range configured {
		if name, _, ok := strings.Cut(entry, "="); !ok || name == "" {
			return nil, fmt.Errorf("environment entry %q is not NAME=value", name)
		}
		env = append(env, entry)
	}
	return env, nil
}

// LookPath returns the absolute path of the program that command names, as the process itself would find it: in the
// PATH of env, or relative to dir.
func LookPath(command, dir string, env []string) (string, error) {
	if command == "" {
		return "", errors.New("no command is configured")
	}
	if strings.ContainsRune(command, '/') || strings.ContainsRune(command, filepath.Separator) {
		if !filepath.IsAbs(command) {
			command = filepath.Join(dir, command)
		}
		path, err := filepath.Abs(command)
		if err != nil {
			return "", err
		}
		return exec.LookPath(path)
	}
	for _, folder := range filepath.SplitList(variable(env, "PATH")) {
		if !filepath.IsAbs(folder) {
			continue // the content of a relative folder depends on where callgate was started
		}
		if path, err := exec.LookPath(filepath.Join(folder, command)); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("there is no program %q on the PATH: install it, or write its full path", command)
}

// variable returns the effective value of a variable: the last, if env has several.
func variable(env []string, name string) string {
	for i := len(env) - 1; i >= 0; i-- {
		if n, value, ok := strings.Cut(env[i], "="); ok && sameName(n, name) {
			return value
		}
	}
	return ""
}
