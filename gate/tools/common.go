package tools

import (
	_ "embed"
	"slices"
	"strings"
	"sync"

	"callgate/internal/jsonx"
	"callgate/permissions"
)

//go:embed common.txt
var commonText string

// CommonCommands returns everyday shell commands, harmless and not, each as a subject. They show what a pattern would
// newly allow before somebody grants it.
var CommonCommands = sync.OnceValue(func() []permissions.Subject {
	return CommandSubjects(strings.Split(strings.TrimSpace(commonText), "\n"))
})

// CommandSubjects analyzes command texts in a folder that does not exist, and returns their subjects. It leaves out
// texts that are more than one command, or that a grant could never release.
func CommandSubjects(texts []string) (subjects []permissions.Subject) {
	shell := KindTool(KindShell)
	for _, text := range texts {
		arguments := append(append([]byte(`{"command":`), jsonx.Quote(text)...), '}')
		a := Analyze(Call{Tool: shell, Arguments: arguments, Place: Place{Dir: "/nonexistent/workspace", Roots: []string{"/nonexistent/workspace"}}})
		var own []permissions.Subject
		for _, s := range a.Subjects {
			if s.Kind == KindShell {
				own = append(own, s)
			}
		}
		if len(own) == 1 && !slices.ContainsFunc(own[0].Effects, func(e permissions.Effect) bool { return e.Named == 0 }) && len(own[0].Decides) > 0 {
			subjects = append(subjects, own[0])
		}
	}
	return subjects
}
