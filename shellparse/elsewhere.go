package shellparse

import "strings"

// optionReaders take more of their own words from the file that a word like @file names. What these words are, the
// command does not say: they can load code like any option.
var optionReaders = set("pytest py.test mypy dmypy ruff tsc kotlin kotlinc kotlinc-jvm kotlinc-js kotlin-native swift swiftc swift-frontend rustc " +
	"rustdoc java javac javadoc javap jar jarsigner jlink jmod jdeps jpackage jshell ecj scala scalac scala-cli groovyc dotnet msbuild " +
	"csc vbc fsc mcs gcc g++ cc c++ c89 c99 cpp clang clang++ clang-cl clang-cpp clang-tidy clang-format clang-check clang-query " +
	"clangd tcc icc icx icpx gfortran flang nvcc hipcc ifort ld gold lld ld.lld ld.gold ld.bfd ld64 link lib cl as nm ar ranlib " +
	"objdump objcopy strip size strings readelf addr2line c++filt dlltool windres elfedit gprof dwp nasm yasm ghc ghci runghc " +
	"ldc2 dmd gdc protoc opt llc lli llvm-ar llvm-nm llvm-objdump llvm-cov llvm-profdata llvm-link dsymutil emcc em++ zig rdmd " +
	"cppcheck include-what-you-use iwyu doxygen tox nox xcodebuild valac nim dart2js")

// optionFiles notes words that a program replaces by what a file holds.
func (a *analysis) optionFiles(c *call) {
	if !optionReaders[c.name] && !strings.HasPrefix(c.name, "llvm-") && !versioned(c.name) {
		return
	}
	for _, w := range c.argv[1:] {
		text := w.text
		if !w.known {
			text = w.head
		}
		at := -1
		if strings.HasPrefix(text, "@") {
			at = 0
		} else if i := strings.Index(text, ",@"); i >= 0 { // -Wl,@file
			at = i + 1
		}
		if at < 0 || at+1 >= len(text) && w.known {
			continue
		}
		c.effectAt("options from "+w.text, w)
		if w.known {
			c.reads = a.file(c.reads, lit(text[at+1:]), c.name, c.sc)
		}
	}
}

// versioned says that a name is one of optionReaders with a version or a target before or behind it: gcc-12,
// aarch64-linux-gnu-gcc.
func versioned(name string) bool {
	head, tail := strings.LastIndexByte(name, '-'), strings.IndexByte(name, '-')
	if head < 0 {
		return false
	}
	if strings.Trim(name[head+1:], "0123456789.") == "" {
		name = name[:head]
		if optionReaders[name] {
			return true
		}
		head = strings.LastIndexByte(name, '-')
	}
	return tail > 0 && head >= 0 && optionReaders[name[head+1:]]
}

// runtimes run a program whose address a word names.
var runtimes = set("deno bun node tsx ts-node uv python python3 nix task jbang earthly dagger kotlin swift scala-cli groovy mojo pixi")

// remote says that a word names code in another place: an address, or a package of a registry.
func remote(text string) bool {
	return strings.Contains(text, "://") || hasPrefix(text, "npm:", "jsr:", "git+", "github:", "gist:", "data:")
}

// remoteCode notes programs that are fetched from elsewhere and run.
func (a *analysis) remoteCode(c *call) {
	switch c.name {
	case "mvn", "./mvnw", "mvnw":
		for _, w := range c.argv[1:] {
			if !strings.HasPrefix(w.text, "-") && strings.Count(w.text, ":") > 1 {
				c.effectAt("plugin "+w.text, w)
			}
		}
		return
	case "pre-commit":
		if len(c.argv) > 1 && hasPrefix(c.argv[1].text, "try-repo", "autoupdate") {
			c.effect("hooks " + texts(c.argv[1:]))
		}
		return
	case "bazel", "bazelisk", "buck2":
		for _, w := range c.argv[1:] {
			if strings.HasPrefix(w.text, "@") && !hasPrefix(w.text, "@//", "@@//") {
				c.operates("package " + w.text)
			}
		}
		return
	}
	if !runtimes[c.name] {
		return
	}
	for _, w := range c.argv[1:] {
		text := w.text
		if !w.known {
			text = w.head
		}
		if _, value, ok := strings.Cut(text, "="); ok && strings.HasPrefix(text, "-") {
			text = value
		}
		if remote(text) {
			c.effectAt("remote code "+w.text, w)
			return
		}
	}
}

// passers hand the words behind -- to a program of their own choice, one of these.
var passers = map[string][]string{
	"cmake": {"make", "ninja"}, "tox": {"pytest"}, "nox": {"pytest"}, "hatch": {"pytest"}, "invoke": {"pytest"}, "inv": {"pytest"},
	"turbo": {"jest", "vitest"}, "nx": {"jest", "vitest"}, "lerna": {"jest", "vitest"}, "rush": {"jest"}, "just": {"pytest", "jest"}, "task": {"pytest", "jest"},
	"mage": {"go"},
}

// passedOn looks at the words behind -- as at those of the program that gets them.
func (a *analysis) passedOn(c *call) {
	programs := passers[c.name]
	if programs == nil {
		return
	}
	at := 1
	for ; at < len(c.argv); at++ {
		if c.argv[at].known && c.argv[at].text == "--" {
			break
		}
	}
	if at+1 >= len(c.argv) {
		return
	}
	for _, p := range programs {
		inner := c.inner(append([]word{lit(p)}, c.argv[at+1:]...), texts(c.argv[:at]))
		inner.name, inner.sc.effects, inner.sc.dirs = p, nil, c.sc.dirs
		inner.reads, inner.writes, inner.outer = nil, nil, nil
		a.inspect(inner)
		for _, e := range inner.effects {
			c.effect(e.Text)
		}
		for _, f := range inner.writes {
			c.writes = a.note(c.writes, f)
		}
		for _, f := range inner.reads {
			c.reads = a.note(c.reads, f)
		}
	}
}
