package chunks

import (
	"bytes"
	"path"
	"slices"
	"strings"
	"sync"
)

// Kind is the rough type of a text.
type Kind string

const (
	KindCode   Kind = "code"
	KindDoc    Kind = "doc"    // prose: Markdown, reStructuredText, plain text
	KindConfig Kind = "config" // JSON, YAML, TOML, build files
	KindNote   Kind = "note"   // a document of a knowledge base
	KindTool   Kind = "tool"   // a tool's definition
)

// Language is what a text is written in.
type Language struct {
	Name string
	Kind Kind
}

var languages = func() map[string]Language {
	byExt := map[string]Language{}
	for _, l := range []struct {
		kind       Kind
		name, exts string
	}{
		{KindCode, "go", "go"}, {KindCode, "python", "py pyi pyx"}, {KindCode, "javascript", "js jsx mjs cjs"},
		{KindCode, "typescript", "ts tsx mts cts"}, {KindCode, "java", "java"}, {KindCode, "rust", "rs"},
		{KindCode, "c", "c h inc"}, {KindCode, "cpp", "cc cpp cxx c++ hh hpp hxx h++ ipp tpp inl cu cuh"},
		{KindCode, "csharp", "cs csx"}, {KindCode, "php", "php phtml"}, {KindCode, "ruby", "rb rake gemspec ru"},
		{KindCode, "kotlin", "kt kts"}, {KindCode, "swift", "swift"}, {KindCode, "scala", "scala sc sbt"},
		{KindCode, "elixir", "ex exs heex eex"}, {KindCode, "erlang", "erl hrl"}, {KindCode, "haskell", "hs lhs"},
		{KindCode, "lua", "lua"}, {KindCode, "zig", "zig"}, {KindCode, "bash", "sh bash zsh ksh bats"},
		{KindCode, "fish", "fish"}, {KindCode, "powershell", "ps1 psm1 psd1"}, {KindCode, "perl", "pl pm t"},
		{KindCode, "r", "r"}, {KindCode, "julia", "jl"}, {KindCode, "dart", "dart"}, {KindCode, "clojure", "clj cljs cljc edn"},
		{KindCode, "ocaml", "ml mli"}, {KindCode, "fsharp", "fs fsi fsx"}, {KindCode, "groovy", "groovy gradle"},
		{KindCode, "objective-c", "m mm"}, {KindCode, "nim", "nim"}, {KindCode, "crystal", "cr"}, {KindCode, "d", "d"},
		{KindCode, "sql", "sql"}, {KindCode, "assembly", "s asm"}, {KindCode, "vue", "vue"}, {KindCode, "svelte", "svelte"},
		{KindCode, "protobuf", "proto"}, {KindCode, "graphql", "graphql gql"}, {KindCode, "terraform", "tf hcl"},
		{KindCode, "nix", "nix"}, {KindCode, "lisp", "el lisp cl scm rkt"}, {KindCode, "vim", "vim"}, {KindCode, "tcl", "tcl"},
		{KindCode, "fortran", "f f90 f95 f03 for"}, {KindCode, "pascal", "pas pp dpr"}, {KindCode, "ada", "adb ads"},
		{KindCode, "solidity", "sol"}, {KindCode, "verilog", "v sv svh"}, {KindCode, "vhdl", "vhd vhdl"}, {KindCode, "awk", "awk"},
		{KindCode, "css", "css scss sass less"}, {KindCode, "html", "html htm xhtml"}, {KindCode, "template", "tmpl gotmpl erb ejs hbs j2 jinja jinja2"},
		{KindDoc, "markdown", "md markdown mdx mkd"}, {KindDoc, "rst", "rst"}, {KindDoc, "asciidoc", "adoc asciidoc"},
		{KindDoc, "org", "org"}, {KindDoc, "tex", "tex"}, {KindDoc, "text", "txt text"},
		{KindConfig, "json", "json jsonc json5 webmanifest"}, {KindConfig, "yaml", "yaml yml"}, {KindConfig, "toml", "toml"},
		{KindConfig, "ini", "ini cfg conf properties editorconfig"}, {KindConfig, "xml", "xml xsd xsl csproj props targets plist"},
		{KindConfig, "make", "mk mak"}, {KindConfig, "cmake", "cmake"}, {KindConfig, "docker", "dockerfile"}, {KindConfig, "go.mod", "mod work"},
	} {
		for ext := range strings.FieldsSeq(l.exts) {
			byExt[ext] = Language{l.name, l.kind}
		}
	}
	return byExt
}()

// fileNames lists files whose whole name tells their language.
var fileNames = map[string]Language{
	"makefile": {"make", KindConfig}, "gnumakefile": {"make", KindConfig}, "justfile": {"make", KindConfig},
	"cmakelists.txt": {"cmake", KindConfig}, "dockerfile": {"docker", KindConfig}, "containerfile": {"docker", KindConfig},
	"jenkinsfile": {"groovy", KindCode}, "rakefile": {"ruby", KindCode}, "gemfile": {"ruby", KindCode},
	"vagrantfile": {"ruby", KindCode}, "build": {"python", KindConfig}, "build.bazel": {"python", KindConfig},
	"workspace": {"python", KindConfig}, "readme": {"text", KindDoc}, "license": {"text", KindDoc}, "copying": {"text", KindDoc},
	"changelog": {"text", KindDoc}, "authors": {"text", KindDoc}, "contributing": {"text", KindDoc},
}

// Named returns the name of the language with this name, or whose files have this extension: go, Python, ts.
func Named(name string) (string, bool) {
	name = strings.ToLower(strings.TrimPrefix(name, "."))
	if slices.Contains(Names(), name) {
		return name, true
	}
	l, known := languages[name]
	return l.Name, known
}

// Names returns the names of all languages, sorted.
var Names = sync.OnceValue(func() []string {
	var names []string
	for _, l := range languages {
		names = append(names, l.Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
})

// LanguageOf returns the language of a file. It goes by the name and, if that does not help, by the #! line in head.
func LanguageOf(name string, head []byte) Language {
	base := strings.ToLower(path.Base(name))
	if l, ok := fileNames[base]; ok {
		return l
	}
	if i := strings.LastIndexByte(base, '.'); i > 0 {
		if l, ok := languages[base[i+1:]]; ok {
			return l
		}
	}
	if l, ok := interpreter(head); ok {
		return l
	}
	return Language{"text", KindDoc}
}

// interpreter returns the language of a #! line.
func interpreter(head []byte) (Language, bool) {
	line, ok := bytes.CutPrefix(head, []byte("#!"))
	if !ok {
		return Language{}, false
	}
	line, _, _ = bytes.Cut(line, []byte("\n"))
	words := strings.Fields(string(line))
	for len(words) > 0 && (path.Base(words[0]) == "env" || strings.HasPrefix(words[0], "-")) {
		words = words[1:]
	}
	if len(words) == 0 {
		return Language{}, false
	}
	name := strings.TrimRight(path.Base(words[0]), "0123456789.")
	switch name {
	case "sh", "bash", "dash", "zsh", "ksh", "bats":
		name = "bash"
	case "node", "nodejs", "deno", "bun":
		name = "javascript"
	case "python", "pypy":
		name = "python"
	case "ruby", "perl", "php", "lua", "awk", "fish", "groovy", "elixir":
	case "Rscript":
		name = "r"
	case "pwsh":
		name = "powershell"
	default:
		return Language{}, false
	}
	return Language{name, KindCode}, true
}
