package source

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestNamesOfPrograms checks that only the YAML files know programs. Code may compare a word with the name of a program
// only as listed here: in a program's inspector, for the words of a language, and in texts for people.
func TestNamesOfPrograms(t *testing.T) {
	table, err := Load(os.DirFS(".."))
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for i := range table.Commands {
		if name := table.Commands[i].Name; !strings.Contains(name, " ") {
			names[name] = true
		}
	}
	for name := range table.Aliases {
		names[name] = true
	}
	for word := range strings.FieldsSeq(homonyms) {
		delete(names, word)
	}
	root := filepath.Join("..", "..", "..")
	seen := map[string][]string{}
	for _, tree := range []string{"gate", "permissions", "shellparse"} {
		err := filepath.WalkDir(filepath.Join(root, tree), func(path string, d fs.DirEntry, err error) error {
			if d != nil && d.IsDir() && slices.Contains(inspecting, filepath.Base(path)) {
				return fs.SkipDir
			}
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.HasSuffix(path, "_gen.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			below, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.ImportSpec:
					return false
				case *ast.BasicLit:
					if text, err := strconv.Unquote(n.Value); n.Kind == token.STRING && err == nil && names[text] {
						seen[filepath.ToSlash(below)] = append(seen[filepath.ToSlash(below)], text)
					}
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for file, words := range seen {
		for _, word := range words {
			if !slices.Contains(strings.Fields(allowed[file]), word) {
				t.Errorf("%s knows %q: say it in shellparse/programs", file, word)
			}
		}
	}
	for file, words := range allowed {
		for word := range strings.FieldsSeq(words) {
			if !slices.Contains(seen[file], word) {
				t.Errorf("%s does not know %q any more: take it out of the list", file, word)
			}
		}
	}
}

// inspecting lists the folders whose code is about one program or language at a time, named by its inspector or
// handler.
var inspecting = []string{"inspect", "embedded", "programs"}

// homonyms lists names of programs that are also ordinary words in code.
const homonyms = `. : [ [[ as at auto base64 cmd code column command date dir env erase exec false fd file format groups hash
	head host hostname http https id install interpreter join last link local next nix patch port powershell pwd
	rd read readonly rename repo rollup script service set skill source st stack tail task time timeout true truncate
	type view w wipe zip`

// allowed lists the names of programs that a file may know, by file.
var allowed = map[string]string{
	// The allow-list of terminals is a policy.
	"gate/terminal.go": "ls cat wc find grep which whoami echo printenv uname stat du df tree npm npx yarn pnpm pip pip3 python python3 node cargo go dotnet make cmake mvn gradle where",

	// These are sample commands for rules; nothing is concluded from the names.
	"permissions/lint/shell.go":   "rm dropdb dd sudo doas su pkexec run0 chroot nsenter",
	"permissions/agent.go":        "grep",
	"permissions/rule.go":         "grep",
	"gate/internal/facts/call.go": "grep",
	"gate/tools/kinds/kinds.go":   "grep",

	// Code reads the words of search programs.
	"gate/tools/internal/searches/search.go": "rg ag grep",
	"shellparse/internal/word/searched.go":   "grep egrep fgrep rg fdfind",

	// The shell's own words.
	"shellparse/internal/walk/declare.go":    "export",
	"shellparse/internal/walk/endless.go":    "break exit return sleep wait",
	"shellparse/internal/walk/control.go":    "exit",
	"shellparse/internal/walk/moves.go":      "cd pushd popd eval builtin trap noglob nocorrect",
	"shellparse/internal/walk/statements.go": "let coproc",
	"shellparse/internal/word/collect.go":    "builtin printf wait mapfile readarray getopts unset let export declare typeset trap",
	"shellparse/internal/word/listed.go":     "diff grep sort",
	"shellparse/internal/word/prints.go":     "wc seq echo printf grep",
	"gate/tools/analyze_shell.go":            "bash ksh mksh sh dash ash zsh mkdir touch",
	"gate/tools/internal/commands/words.go":  "shopt setopt",

	// Names of files, types and devices, and facts too small for a field.
	"gate/internal/floor/data.go":              "mkfs",
	"gate/internal/floor/disarm.go":            "pgrep pidof ps launchctl",
	"gate/internal/floor/secrets.go":           "jq",
	"gate/tools/guess.go":                      "bash python",
	"gate/tools/internal/commands/classify.go": "manage.py xh mvn",
	"gate/tools/internal/commands/manifest.go": "configure manage.py gradlew gradlew.bat mvnw dune wscript rspec",
	"gate/tools/installed.go":                  "lib",
	"gate/tools/listing.go":                    "mkdir",
	"gate/tools/words.go":                      "ln",
	"shellparse/internal/parse/foreign.go":     "iex taskkill icacls",
	"shellparse/shellparse.go":                 "echo printf",
	"shellparse/started.go":                    "awk crontab",
}
