package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// peer is another project's MCP proxy that everybody can install, as a Go module or from npm. The version is the
// program's; its dependencies are resolved when it is installed.
type peer struct {
	name    string // the program's
	version string
	module  string // the Go module; "" for an npm package, which has the program's name
	command string // path of the program within the module
}

var (
	tbxark       = peer{name: "tbxark-mcp-proxy", version: "v0.43.2", module: "github.com/TBXark/mcp-proxy"}
	vmcp         = peer{name: "vmcp", version: "v0.47.0", module: "github.com/stacklok/toolhive", command: "/cmd/vmcp"}
	npmProxy     = peer{name: "mcp-proxy", version: "6.7.19"}
	supergateway = peer{name: "supergateway", version: "4.0.0"}
	mcpRemote    = peer{name: "mcp-remote", version: "0.15.1"}
)

var peers = []peer{tbxark, vmcp, npmProxy, supergateway, mcpRemote}

// folder returns where a version of the peer is installed in dir.
func (p peer) folder(dir string) string { return filepath.Join(dir, p.name+"@"+p.version) }

// program returns the path of the peer's program in dir. It returns fs.ErrNotExist if the peer is not installed, or if
// it is from npm and Node.js is missing.
func (p peer) program(dir string) (string, error) {
	path := filepath.Join(p.folder(dir), p.name)
	switch {
	case p.module == "":
		if _, err := exec.LookPath("node"); err != nil {
			return "", fmt.Errorf("there is no Node.js: %w", fs.ErrNotExist)
		}
		path = filepath.Join(p.folder(dir), "node_modules", ".bin", p.name)
		if runtime.GOOS == "windows" {
			path += ".cmd"
		}
	case runtime.GOOS == "windows":
		path += ".exe"
	}
	_, err := os.Stat(path)
	return path, err
}

// peersFolder returns the default folder for peers.
func peersFolder() string {
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	return filepath.Join(cache, "callgate", "bench-peers")
}

// install installs missing peers in dir. It reports a peer that cannot be installed and goes on with the others.
func install(dir string, progress io.Writer) {
	for _, p := range peers {
		if _, err := p.program(dir); err == nil {
			continue
		}
		fmt.Fprintf(progress, "installing %s %s\n", p.name, p.version)
		if err := p.install(dir, progress); err != nil {
			fmt.Fprintf(progress, "%s cannot be installed: %v\n", p.name, err)
		}
	}
}

func (p peer) install(dir string, progress io.Writer) (err error) {
	folder := p.folder(dir)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	run := func(name string, args ...string) {
		if err != nil {
			return
		}
		cmd := exec.Command(name, args...)
		cmd.Dir, cmd.Stdout, cmd.Stderr = folder, progress, progress
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-mod=mod", "GOWORK=off")
		err = cmd.Run()
	}
	if p.module == "" { // do not run the packages' scripts
		run("npm", "install", "--prefix", folder, "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel", "error", p.name+"@"+p.version)
		return err
	}
	if err := os.Remove(filepath.Join(folder, "go.mod")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	run("go", "mod", "init", "peer")
	run("go", "mod", "edit", "-require", p.module+"@"+p.version)
	program := p.name
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	run("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", program, p.module+p.command)
	return err
}
