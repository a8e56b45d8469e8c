package command

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// shown matches a command line of callgate in a page: a line of a block, or a span of code.
var shown = regexp.MustCompile("(?m)(?:^ *(?:\\$ )?|`|&& )callgate ([a-z][^`\"\n]*)")

// TestPagesShowCommandsThatExist checks that the commands and flags in pages exist.
func TestPagesShowCommandsThatExist(t *testing.T) {
	root, _ := newRootCommand()
	tried := 0
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/dev/*.md", "examples/*.md"} {
		pages, err := filepath.Glob(filepath.Join("..", "..", pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, page := range pages {
			text, err := os.ReadFile(page)
			if err != nil {
				t.Fatal(err)
			}
			for _, line := range commandsOf(string(text)) {
				tried++
				if wrong := tryCommand(root, line); wrong != "" {
					t.Errorf("%s shows callgate %s: %s", page, strings.Join(line, " "), wrong)
				}
			}
		}
	}
	if tried < 150 {
		t.Errorf("only %d commands were found", tried)
	}
}

// commandsOf returns the words of each command line that a page shows. In blocks, no line of prose begins with callgate
// and the name of a command.
func commandsOf(text string) [][]string {
	var found [][]string
	code := false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			code = !code
			continue
		}
		if !code && !strings.HasPrefix(line, "    ") {
			line = strings.Join(regexp.MustCompile("`[^`]+`").FindAllString(line, -1), "\n")
		}
		for _, m := range shown.FindAllStringSubmatch(line, -1) {
			if words := simpleWords(m[1]); len(words) > 0 {
				found = append(found, words)
			}
		}
	}
	return found
}

// simpleWords returns the words up to the first one that ends the command or is quoted.
func simpleWords(line string) []string {
	var words []string
	for word := range strings.FieldsSeq(line) {
		if strings.ContainsAny(word, "#|>;&'\"<…\\") {
			break
		}
		words = append(words, strings.Trim(word, "[].,:)"))
	}
	return words
}

// tryCommand returns what does not exist of a command line, or "".
func tryCommand(root *cobra.Command, words []string) string {
	cmd, rest, err := root.Find(words)
	if err != nil || cmd == root {
		return "there is no such command"
	}
	cmd.InitDefaultHelpFlag()
	operands := 0
	for _, word := range rest {
		name, long := strings.CutPrefix(word, "--")
		name, _, _ = strings.Cut(name, "=")
		switch {
		case word == "--":
			return ""
		case long:
			if cmd.Flags().Lookup(name) == nil && cmd.InheritedFlags().Lookup(name) == nil {
				return "there is no flag --" + name
			}
		case !strings.HasPrefix(word, "-"):
			operands++
		}
	}
	if cmd.HasAvailableSubCommands() && !cmd.Runnable() && operands > 0 {
		return "there is no such subcommand"
	}
	return ""
}
