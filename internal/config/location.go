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

// locationFlags are the flags that choose the data directory, the configuration file and the worker.
var locationFlags = []string{"data-dir", "config", "worker"}

// DefaultDataDir returns the data directory that is used if none is named.
func DefaultDataDir() string { return filepath.Join(xdg.DataHome, "callgate") }

// DefaultFile returns the configuration file that is used if none is named. It need not exist.
func DefaultFile() string { return filepath.Join(xdg.ConfigHome, "callgate", "callgate.yaml") }

// ServersFolder returns the folder where connect keeps the servers that it took from hosts.
func ServersFolder() string { return filepath.Join(xdg.ConfigHome, "callgate", "servers") }

// ConnectedFiles returns the files with the servers of connected hosts, for --mcp-config.
func ConnectedFiles() []string {
	files, _ := filepath.Glob(filepath.Join(ServersFolder(), "*.mcp.json")) // the pattern is valid
	return files
}

// OfConnected returns the command lines for args with the servers of connected hosts, one line for each file. It
// returns "" if no host is connected.
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

// HintConnected returns OfConnected if the configuration has no servers, otherwise "".
func HintConnected(c *Config, args []string) string {
	if names, err := c.ServerNames(); err != nil || len(names) > 0 {
		return ""
	}
	return OfConnected(args)
}

// HintUnwritable returns advice if err means that the data directory cannot be used, otherwise "".
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

// WithServers returns the command line for args with the servers of a file.
func WithServers(args []string, file string) string {
	words := []string{"callgate"}
	for _, word := range append(slices.Clone(args), "--mcp-config", file) {
		words = append(words, Quote(word))
	}
	return strings.Join(words, " ")
}

// Location returns the options with which another process finds the same data directory, configuration and worker. It
// leaves out defaults, and makes paths absolute.
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

// Chosen returns what to append to a command so that it uses the same data directory, configuration and worker as this
// command line: this line's own flags, each after a space.
func (s *Settings) Chosen() string {
	var b strings.Builder
	for _, name := range locationFlags {
		if flag := s.Common.Lookup(name); flag.Changed {
			b.WriteString(" --" + name + " " + Quote(flag.Value.String()))
		}
	}
	return b.String()
}

// Program returns the beginning of the commands that people are told to run: "callgate", with --data-dir if the command
// would otherwise use another data directory.
func Program(dataDir string) string {
	usual := cmp.Or(os.Getenv(Variable("data-dir")), DefaultDataDir())
	if usual, err := filepath.Abs(ExpandHome(usual)); dataDir == "" || err == nil && usual == dataDir {
		return "callgate"
	}
	return "callgate --data-dir " + Quote(dataDir)
}

// ServedFrom returns the data directory of the callgate serve that serves this worker. A tenant's own lies within it.
func (c *Config) ServedFrom() string { return cmp.Or(c.base, c.DataDir) }

// Program returns what the function Program returns for this configuration's data directory.
func (c *Config) Program() string { return Program(c.ServedFrom()) }

// Quote quotes a word for a shell, if necessary.
func Quote(word string) string {
	if word != "" && !strings.ContainsAny(word, " \t\n'\"\\$&;()<>|*?[]{}`#!") {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// ExpandHome replaces a leading ~ with the home folder.
func ExpandHome(path string) string {
	if rest, ok := strings.CutPrefix(path, "~"); ok && (rest == "" || os.IsPathSeparator(rest[0])) {
		return filepath.Join(xdg.Home, rest)
	}
	return path
}

// Ports returns the port of the side server, if the configuration names it.
func (c *Config) Ports() []string {
	if _, port, err := net.SplitHostPort(c.Listen); err == nil && port != "0" {
		return []string{port}
	}
	return nil
}

// OwnFiles returns the files and folders that no tool may touch.
func (c *Config) OwnFiles() []string {
	files := []string{c.DataDir, filepath.Join(xdg.ConfigHome, "callgate")}
	if c.base != "" {
		files = append(files, c.base)
	}
	secret, plain := filesElsewhere(c)
	files = slices.Concat(files, c.HookRunner.Files(), secret, plain)
	if c.started != nil {
		files = append(files, c.started.OwnFiles()...)
	}
	return files
}

// filesElsewhere returns callgate's files outside its folders. secret holds its secrets; plain holds what programs may
// read but MUST NOT change.
func filesElsewhere(c *Config) (secret, plain []string) {
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
	plain = slices.Concat([]string{c.File, c.Files().Lock(), c.LogFile, c.Tenants.Rules}, c.MCPConfig, c.Policy.Cedar, c.Policy.Rego)
	for i := range c.Channels {
		plain = append(plain, c.Channels[i].OnCall)
	}
	for _, one := range c.Tenants.Each {
		plain = append(plain, one.Rules)
	}
	if c.AuditAnchor != "syslog" {
		plain = append(plain, c.AuditAnchor)
	}
	return setPaths(secret), setPaths(plain)
}

// setPaths returns the paths that are set, with ~ expanded.
func setPaths(paths []string) (set []string) {
	for _, path := range paths {
		if path != "" {
			set = append(set, ExpandHome(path))
		}
	}
	return set
}

// TakenOver returns this configuration as it applies to a callgate that was started with another one. The data
// directory, the worker and the guard stay those of started until a restart. The files of both count as callgate's own.
func (c *Config) TakenOver(started *Config) *Config {
	taken := *c
	taken.DataDir, taken.base, taken.Worker, taken.Guard, taken.started = started.DataDir, started.base, started.Worker, started.Guard, started
	return &taken
}
