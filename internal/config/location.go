package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/adrg/xdg"

	_ "callgate/internal/home"
)

// locationFlags are the flags that choose where callgate keeps its data, what configures it and whose rules apply.
var locationFlags = []string{"data-dir", "config", "worker"}

// DefaultDataDir is the data directory of who names none.
func DefaultDataDir() string { return filepath.Join(xdg.DataHome, "callgate") }

// DefaultFile is the configuration file of who names none. It need not exist.
func DefaultFile() string { return filepath.Join(xdg.ConfigHome, "callgate", "callgate.yaml") }

// ServersFolder is where connect keeps the servers that it took from hosts.
func ServersFolder() string { return filepath.Join(xdg.ConfigHome, "callgate", "servers") }

// ConnectedFiles are the files with the servers of connected hosts, for --mcp-config.
func ConnectedFiles() []string {
	files, _ := filepath.Glob(filepath.Join(ServersFolder(), "*.mcp.json")) // the pattern is well formed
	return files
}

// OfConnected says which command lines are about the servers of connected hosts, a line for each file; "" if no host is
// connected.
func OfConnected(args []string) string {
	var b strings.Builder
	for _, file := range ConnectedFiles() {
		if b.Len() == 0 {
			b.WriteString("The servers of your connected hosts are in files of their own:\n")
		}
		b.WriteString("  " + WithServers(args, file) + "\n")
	}
	return b.String()
}

// HintConnected is OfConnected for a configuration without servers: what is known of theirs would help. It is "" for
// another.
func HintConnected(c *Config, args []string) string {
	if names, err := c.ServerNames(); err != nil || len(names) > 0 {
		return ""
	}
	return OfConnected(args)
}

// HintUnwritable says what helps when err is that the data directory cannot be used; "" if it is something else.
func (s *Settings) HintUnwritable(err error) string {
	failed, ok := errors.AsType[*fs.PathError](err)
	if !ok || failed.Op != "mkdir" && !errors.Is(err, fs.ErrPermission) && !errors.Is(err, syscall.EROFS) && !errors.Is(err, syscall.ENOTDIR) {
		return ""
	}
	dir, err := s.DataDir()
	holds := func(folder, path string) bool {
		rel, err := filepath.Rel(folder, path)
		return err == nil && filepath.IsLocal(rel)
	}
	if err != nil || !holds(dir, failed.Path) && !holds(failed.Path, dir) {
		return ""
	}
	return fmt.Sprintf("callgate keeps its data in %s, and must be able to write there. To keep it in another folder, use --data-dir or %s.\n", dir, Variable("data-dir"))
}

// WithServers is the command line of args with the servers of a file.
func WithServers(args []string, file string) string {
	words := []string{"callgate"}
	for _, word := range append(slices.Clone(args), "--mcp-config", file) {
		words = append(words, Quote(word))
	}
	return strings.Join(words, " ")
}

// Location returns the options with which another process finds the same data directory, configuration and worker:
// those that flags or variables choose instead of the defaults, with absolute paths.
func (s *Settings) Location() (options []string, err error) {
	defaults := map[string]string{"data-dir": DefaultDataDir(), "config": DefaultFile(), "worker": DefaultWorker}
	for _, name := range locationFlags {
		value := os.Getenv(Variable(name))
		if flag := s.Common.Lookup(name); flag.Changed {
			value = flag.Value.String()
		}
		if value == "" {
			continue
		}
		if name != "worker" {
			if value, err = filepath.Abs(ExpandHome(value)); err != nil {
				return nil, invalid("--"+name, err)
			}
		}
		if value != defaults[name] {
			options = append(options, "--"+name+"="+value)
		}
	}
	return options, nil
}

// Chosen returns what a command needs at its end to be about the same data directory, configuration and worker as this
// command line: its own flags, each after a space.
func (s *Settings) Chosen() string {
	var b strings.Builder
	for _, name := range locationFlags {
		if flag := s.Common.Lookup(name); flag.Changed {
			b.WriteString(" --" + name + " " + Quote(flag.Value.String()))
		}
	}
	return b.String()
}

// Program begins the commands that a person is told to run: "callgate", with --data-dir where a command without it would
// use another data directory.
func Program(dataDir string) string {
	usual := cmp.Or(os.Getenv(Variable("data-dir")), DefaultDataDir())
	if usual, err := filepath.Abs(ExpandHome(usual)); dataDir == "" || err == nil && usual == dataDir {
		return "callgate"
	}
	return "callgate --data-dir " + Quote(dataDir)
}

// ServedFrom is the data directory of the callgate serve that serves this worker. A tenant's own lies within it.
func (c *Config) ServedFrom() string { return cmp.Or(c.base, c.DataDir) }

// Program is the function of that name for the data directory of this configuration.
func (c *Config) Program() string { return Program(c.ServedFrom()) }

// Quote writes a word as a shell reads it.
func Quote(word string) string {
	if word != "" && !strings.ContainsAny(word, " \t\n'\"\\$&;()<>|*?[]{}`#!") {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// ExpandHome replaces a leading ~.
func ExpandHome(path string) string {
	if rest, ok := strings.CutPrefix(path, "~"); ok && (rest == "" || os.IsPathSeparator(rest[0])) {
		return filepath.Join(xdg.Home, rest)
	}
	return path
}

// Ports are those of the side server as far as the configuration names them.
func (c *Config) Ports() []string {
	if _, port, err := net.SplitHostPort(c.Listen); err == nil && port != "0" {
		return []string{port}
	}
	return nil
}

// OwnFiles are the files that no tool may touch.
func (c *Config) OwnFiles() []string {
	files := []string{c.DataDir, filepath.Join(xdg.ConfigHome, "callgate")}
	if c.base != "" {
		files = append(files, c.base)
	}
	secret, plain := outsideFiles(c)
	files = slices.Concat(files, c.HookRunner.Files(), secret, plain)
	if c.started != nil {
		files = append(files, c.started.OwnFiles()...)
	}
	return files
}

// outsideFiles are callgate's files outside its folders: those that hold its secrets, and those that programs may read
// and MUST NOT change.
func outsideFiles(c *Config) (secret, plain []string) {
	secret = []string{c.TLS.Key, c.Approvers.OIDC.ClientSecret, c.Cluster.Key, c.Cluster.Creds, c.Cluster.CertKey}
	for _, token := range c.MCPTokens {
		secret = append(secret, token.File)
	}
	for _, one := range c.Export {
		secret = append(secret, one.Header, one.Keys)
	}
	for i := range c.Servers {
		secret = append(secret, c.Servers[i].OAuth.files()...)
	}
	plain = append([]string{c.File, c.Files().Lock(), c.LogFile}, c.MCPConfig...)
	if c.AuditAnchor != "syslog" {
		plain = append(plain, c.AuditAnchor)
	}
	return setPaths(secret), setPaths(plain)
}

// setPaths returns the paths that are set, with the home folder in them.
func setPaths(paths []string) (set []string) {
	for _, path := range paths {
		if path != "" {
			set = append(set, ExpandHome(path))
		}
	}
	return set
}

// TakenOver is the configuration as a callgate has it that was started with another: where its data is, and how it
// keeps servers from its files, stays as it was until a restart. The files of both are its own.
func (c *Config) TakenOver(started *Config) *Config {
	taken := *c
	taken.DataDir, taken.base, taken.Worker, taken.Guard, taken.started = started.DataDir, started.base, started.Worker, started.Guard, started
	return &taken
}
