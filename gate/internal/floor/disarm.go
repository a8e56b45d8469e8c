package floor

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"callgate/gate/internal/facts"
	"callgate/gate/tools"
	"callgate/permissions"
	"callgate/shellparse/programs"
)

// disarms looks for what ends or replaces callgate, or switches off the permission checks of another agent.
func (f *check) disarms() string {
	if f.losesProgram() {
		return "removes or replaces callgate itself"
	}
	for _, c := range f.a.Commands {
		if len(c.Argv) == 0 {
			continue
		}
		if endsCallgate(c) {
			return "ends callgate"
		}
		if f.findsCallgate(c) && f.has(func(c tools.CommandView) bool { return About(Program(c)).Has(programs.Kills) }) {
			return "ends callgate"
		}
		if c.Risk == permissions.ReadOnly {
			continue // it only looks for such words
		}
		for _, word := range c.Argv[1:] {
			if holdsAny(strings.ToLower(word), mayDisarm) && offSwitch.MatchString(word) {
				return fmt.Sprintf("takes the permissions off another agent (%s)", tools.Visible(offSwitch.FindString(word)))
			}
		}
	}
	if len(f.a.Commands) > 0 {
		return ""
	}
	for _, path := range f.a.Writes {
		if agentSettings.MatchString(path.Path) {
			for _, t := range f.call.Said() {
				if t.HoldsAny(maySettle) && offSetting.MatchString(t.Said) {
					return fmt.Sprintf("takes the permissions off another agent in %s", tools.Visible(path.Path))
				}
			}
		}
	}
	return ""
}

// program is the path of this process's program, or "".
var program = sync.OnceValue(func() string {
	path, _ := os.Executable()
	return path
})

// losesProgram reports whether the call writes, moves or removes the program of this process, a link to it, or any file
// of its folder. What unpacks files further above does not count.
func (f *check) losesProgram() bool {
	if len(f.a.Writes)+len(f.a.Wipes) == 0 || program() == "" {
		return false
	}
	own, err := os.Stat(program())
	if err != nil {
		return false
	}
	is := func(path string) bool {
		info, err := os.Stat(path)
		return err == nil && os.SameFile(info, own)
	}
	return slices.ContainsFunc(f.a.Writes, func(w tools.Written) bool {
		return !w.Guessed && (is(w.Path) || w.Whole && filepath.Clean(w.Path) == filepath.Dir(program()))
	}) || slices.ContainsFunc(f.a.Wipes, func(w tools.Wipe) bool { return filepath.IsAbs(w.Path) && facts.Within(program(), w.Path) })
}

// findsCallgate reports whether a command may print callgate's process: it prints processes whose names it is given,
// itself or out of what ps prints.
func (f *check) findsCallgate(c tools.CommandView) bool {
	name := Program(c)
	switch {
	case name == "pgrep" || name == "pidof":
		return matchesCallgate(c)
	case !byExpression[name] && !filters[name] || !f.has(func(c tools.CommandView) bool { return Program(c) == "ps" }):
		return false
	case filters[name]:
		return slices.ContainsFunc(c.Argv[1:], func(word string) bool {
			return strings.Contains(oneOf.ReplaceAllString(strings.ToLower(word), "$1"), "callgate")
		})
	}
	return matchesCallgate(c)
}

// endsCallgate reports whether a command ends this process.
func endsCallgate(c tools.CommandView) bool {
	about := About(Program(c))
	if about.Has(programs.RunsContainers) && c.Risk.Exceeds(permissions.Unknown) {
		return slices.ContainsFunc(c.Argv[1:], func(word string) bool { return strings.Contains(strings.ToLower(word), "callgate") })
	}
	if !about.Has(programs.Kills) || c.Risk == permissions.ReadOnly || about.Has(programs.PackageManager) && !c.Risk.Exceeds(permissions.Unknown) {
		return false
	}
	return matchesCallgate(c) || c.Argv[0] != "launchctl" && slices.ContainsFunc(c.Argv[1:], isOwnProcess)
}

// matchesCallgate reports whether callgate is among the processes that the words of a command name.
func matchesCallgate(c tools.CommandView) bool {
	regular, name, words := takesExpressions(c), Program(c), c.Argv[1:]
	if slices.ContainsFunc(words, func(word string) bool { return namesCallgate(word, regular) }) {
		return true
	}
	if !selects[name] {
		return false
	}
	pattern, ofUser, value := false, false, false
	for _, word := range words {
		switch {
		case value:
			value = false
		case inverts[name] && invertOption.MatchString(word):
			return true
		case userOption.MatchString(word):
			ofUser, value = true, !strings.Contains(word, "=") && (len(word) == 2 || word[1] == '-')
		case !strings.HasPrefix(word, "-"):
			pattern = true
		}
	}
	return ofUser && !pattern
}

// namesCallgate reports whether a word names callgate, or is a pattern for names that may match it: a regular expression
// if regular is true.
func namesCallgate(word string, regular bool) bool {
	lower := strings.ToLower(word)
	if strings.Contains(lower, "callgate") {
		return true
	}
	if !regular {
		ok, err := path.Match(lower, "callgate")
		return ok && err == nil
	}
	pattern, err := regexp.Compile("(?i)" + boundaries.Replace(strings.TrimLeft(word, "*")))
	return err != nil || pattern.MatchString("callgate")
}

// takesExpressions reports whether a command finds processes by regular expressions.
func takesExpressions(c tools.CommandView) bool {
	return byExpression[Program(c)] ||
		slices.ContainsFunc(c.Argv[1:], func(w string) bool { return w == "--regexp" || w != "" && w[0] == '-' && strings.Contains(w, "r") })
}

// isOwnProcess reports whether a word names this process, its group, its parent or every process.
func isOwnProcess(word string) bool {
	pid, err := strconv.Atoi(word)
	return err == nil && (pid == os.Getpid() || pid == -os.Getpid() || pid == os.Getppid() && pid > 1) || word == "-1"
}
