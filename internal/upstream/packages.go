package upstream

import (
	"net/url"
	"path"
	"slices"
	"strings"

	"callgate/internal/lazyregexp"
)

// Packages returns the names of the packages that a configured command runs, or the host of a configured URL:
// "@scope/name" for `npx -y @scope/name@1.2.3`, "name" for `uvx name`, the image for `docker run`, and the file name
// for any other program. These names link a server to what is known about it, so a command with any unknown option gets
// none.
func Packages(command string, args []string, address string) []string {
	if address != "" {
		u, err := url.Parse(address)
		if err != nil || u.Hostname() == "" {
			return nil
		}
		return []string{strings.ToLower(u.Hostname())}
	}
	name := programName(command)
	if r, rest := runnerOf(name, args); r != nil {
		return bridged(r.packages(rest), rest)
	}
	switch {
	case name == "cmd" && len(args) > 1 && strings.EqualFold(args[0], "/c"):
		return Packages(args[1], args[2:], "")
	case name == "" || slices.Contains(interpreters, name):
		return nil
	}
	if pkg := nodeModule(command); pkg != "" {
		return []string{pkg}
	}
	return []string{name}
}

// bridge is the package that connects to a server at the address that follows its name.
const bridge = "mcp-remote"

// bridged adds the host of the address to a command's package if that is the bridge.
func bridged(names, args []string) []string {
	if !slices.Equal(names, []string{bridge}) {
		return names
	}
	at := 1 + slices.IndexFunc(args, func(arg string) bool { return arg == bridge || strings.HasPrefix(arg, bridge+"@") })
	if at == 0 || at == len(args) || !strings.HasPrefix(args[at], "https://") {
		return names
	}
	return append(names, Packages("", nil, args[at])...)
}

// Specs returns the packages that a configured command has a package manager run, with versions as written, and the
// name of its runner: "npx" and "@scope/name@1.2.3". A command with any unknown option gets none.
func Specs(command string, args []string) (program string, specs []string) {
	program = programName(command)
	if program == "cmd" && len(args) > 1 && strings.EqualFold(args[0], "/c") {
		return Specs(args[1], args[2:])
	}
	r, rest := runnerOf(program, args)
	if r == nil {
		return program, nil
	}
	whole := *r
	whole.name = func(spec string) string {
		if r.name(spec) == "" {
			return ""
		}
		return spec
	}
	return program, whole.packages(rest)
}

// Interprets reports whether a program says nothing about the server itself, which only its arguments name.
func Interprets(command string) bool { return slices.Contains(interpreters, programName(command)) }

// runnerOf returns the runner for a program with those arguments, and the arguments after its command. It returns nil
// if the program is not a runner.
func runnerOf(program string, args []string) (*runner, []string) {
	for i := range runners {
		if r := &runners[i]; slices.Contains(r.programs, program) {
			if rest, ok := r.after(args); ok {
				return r, rest
			}
		}
	}
	return nil, nil
}

// interpreters lists programs whose own name says nothing about the server.
var interpreters = []string{
	"bash", "bun", "bunx", "cmd", "dash", "deno", "docker", "dotnet", "env", "fish", "go", "java", "ksh", "node", "nodejs",
	"npm", "npx", "perl", "php", "pipx", "pnpm", "pnpx", "podman", "powershell", "pwsh", "python", "ruby",
	"sh", "sudo", "ts-node", "tsx", "uv", "uvx", "wsl", "yarn", "zsh",
}

// runner is a program that runs a package named in its arguments.
type runner struct {
	programs []string
	commands []string // words between the program and its options, of which one MUST follow; may be empty
	plain    []string // options without a value
	valued   []string // options whose value says nothing about the package
	from     []string // options whose value is the package; the operand is then just a program in it
	module   string   // option whose value is the package and that ends the options; operands are then no packages
	name     func(operand string) string
}

var (
	npmPlain = []string{"-y", "--yes", "-q", "--quiet", "-s", "--silent", "--prefer-offline", "--prefer-online", "--offline", "--bun"}
	npmFrom  = []string{"-p", "--package"}
	uvPlain  = []string{"-q", "--quiet", "-v", "--verbose", "-n", "--no-cache", "--isolated", "--refresh", "--offline", "--no-progress", "-U", "--upgrade"}
	uvValued = []string{"-p", "--python", "-w", "--with"}

	nodePlain = []string{"--no-warnings", "--enable-source-maps", "--trace-warnings", "--no-deprecation", "--max-old-space-size"}
)

var runners = []runner{
	{programs: []string{"npx", "bunx", "pnpx"}, plain: npmPlain, from: npmFrom, name: npmPackage},
	{programs: []string{"npm"}, commands: []string{"exec", "x"}, plain: npmPlain, from: npmFrom, name: npmPackage},
	{programs: []string{"pnpm", "yarn"}, commands: []string{"dlx"}, plain: npmPlain, from: npmFrom, name: npmPackage},
	{programs: []string{"bun"}, commands: []string{"x"}, plain: npmPlain, from: npmFrom, name: npmPackage},
	{programs: []string{"node", "nodejs", "bun"}, plain: nodePlain, name: nodeModule},
	{programs: []string{"deno"}, commands: []string{"run"}, plain: []string{"-A", "--allow-all", "--allow-net", "--allow-read",
		"--allow-write", "--allow-env", "--allow-run", "--allow-sys", "-q", "--quiet"}, name: denoPackage},
	{programs: []string{"uvx"}, plain: uvPlain, valued: uvValued, from: []string{"--from"}, name: pythonPackage},
	{programs: []string{"uv"}, commands: []string{"tool run"}, plain: uvPlain, valued: uvValued, from: []string{"--from"}, name: pythonPackage},
	{programs: []string{"pipx"}, commands: []string{"run"}, plain: []string{"-q", "--quiet", "--verbose"}, valued: []string{"--python"},
		from: []string{"--spec"}, name: pythonPackage},
	{programs: []string{"python"}, plain: []string{"-u", "-I", "-E", "-s", "-B"}, module: "-m", name: pythonPackage},
	{programs: []string{"docker", "podman"}, commands: []string{"run", "container run"},
		plain: []string{"-i", "-t", "-it", "-ti", "--interactive", "--tty", "--rm", "--init", "--read-only"},
		valued: []string{"-v", "--volume", "-e", "--env", "--env-file", "--mount", "--network", "--net", "--name", "-w", "--workdir",
			"-u", "--user", "--pull", "--platform", "-p", "--publish", "--add-host", "-m", "--memory", "--cpus", "-l", "--label",
			"--security-opt", "--cap-drop", "--tmpfs"},
		name: imageName},
}

// after returns the arguments after the runner's command.
func (r *runner) after(args []string) ([]string, bool) {
	if len(r.commands) == 0 {
		return args, true
	}
	for _, c := range r.commands {
		words := strings.Fields(c)
		if len(args) >= len(words) && slices.Equal(args[:len(words)], words) {
			return args[len(words):], true
		}
	}
	return nil, false
}

// packages reads the options up to the operand and returns the packages.
func (r *runner) packages(args []string) []string {
	for i := 0; i < len(args); i++ {
		option, value, joined := strings.Cut(args[i], "=")
		switch {
		case option == r.module && r.module != "":
			if len(args) > i+1 {
				return r.only(args[i+1], nil)
			}
			return nil
		case args[i] == "--" && len(args) > i+1:
			return r.operand(args[i+1])
		case !strings.HasPrefix(option, "-"):
			return r.operand(args[i])
		case slices.Contains(r.plain, option):
		case slices.Contains(r.valued, option), slices.Contains(r.from, option):
			if !joined {
				if i++; i == len(args) {
					return nil
				}
				value = args[i]
			}
			if slices.Contains(r.from, option) {
				return r.only(value, args[i+1:])
			}
		default:
			return nil
		}
	}
	return nil
}

func (r *runner) operand(word string) []string {
	if r.module != "" {
		return nil
	}
	return r.only(word, nil)
}

// only returns the package, or nil if an option in the rest could name another.
func (r *runner) only(spec string, rest []string) []string {
	for _, arg := range rest {
		if option, _, _ := strings.Cut(arg, "="); option == "--" || !strings.HasPrefix(option, "-") {
			break
		} else if !slices.Contains(r.plain, option) {
			return nil
		}
	}
	if name := r.name(spec); name != "" {
		return []string{name}
	}
	return nil
}

var (
	windowsSuffix = lazyregexp.New(`(?i)\.(exe|cmd|bat|com|ps1)$`)
	pythonName    = lazyregexp.New(`^python[0-9.]*$`)
)

// programName returns the file name without folders and without an executable's suffix.
func programName(command string) string {
	base := windowsSuffix.ReplaceAllString(path.Base(slashed(command)), "")
	switch {
	case base == "." || base == "/" || base == "..":
		return ""
	case pythonName.MatchString(base):
		return "python"
	}
	return base
}

func slashed(p string) string { return strings.ReplaceAll(p, `\`, "/") }

var (
	npmSpec    = lazyregexp.New(`^((?:@[a-z0-9~-][a-z0-9._~-]*/)?[A-Za-z0-9~-][A-Za-z0-9._~-]*)(?:@([A-Za-z0-9^~<>=|* .+_-]*))?$`)
	pythonSpec = lazyregexp.New(`^([A-Za-z0-9][A-Za-z0-9._-]*)(?:\[[A-Za-z0-9._, -]*\])?(?:@[A-Za-z0-9.+_-]+|(?:[=<>!~]=?|===)[A-Za-z0-9.,*+=<>!~_ -]+)?$`)
	imageSpec  = lazyregexp.New(`^([a-z0-9][a-z0-9._/-]*(?::[0-9]+/[a-z0-9._/-]+)?)(?::[A-Za-z0-9._-]+)?(?:@sha256:[0-9a-f]+)?$`)
	pythonDash = lazyregexp.New(`[-_.]+`)
)

// npmPackage returns the name of a package in the registry. It returns "" for an address, a folder or an alias, which
// could be anything.
func npmPackage(spec string) string {
	if m := npmSpec.FindStringSubmatch(spec); m != nil {
		return m[1]
	}
	return ""
}

// nodeModule returns the package that a script or program belongs to, or "".
func nodeModule(file string) string {
	file = slashed(file)
	_, inside, ok := cutLast(file, "node_modules/")
	if !ok || strings.Contains("/"+inside+"/", "/../") {
		return ""
	}
	parts := strings.Split(inside, "/")
	switch {
	case parts[0] == ".bin" && len(parts) == 2:
		return programName(parts[1])
	case strings.HasPrefix(parts[0], "@") && len(parts) > 1:
		return npmPackage(parts[0] + "/" + parts[1])
	case strings.HasPrefix(parts[0], "."):
		return ""
	}
	return npmPackage(parts[0])
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 && (i == 0 || s[i-1] == '/') {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

func denoPackage(spec string) string {
	name, ok := strings.CutPrefix(spec, "npm:")
	if !ok {
		return ""
	}
	return npmPackage(strings.TrimPrefix(name, "/"))
}

// pythonPackage returns the normalized name of a package in the index, or "".
func pythonPackage(spec string) string {
	if m := pythonSpec.FindStringSubmatch(spec); m != nil {
		return strings.ToLower(pythonDash.ReplaceAllString(m[1], "-"))
	}
	return ""
}

// imageName returns the image without tag and digest, or "".
func imageName(image string) string {
	if m := imageSpec.FindStringSubmatch(image); m != nil {
		return m[1]
	}
	return ""
}
