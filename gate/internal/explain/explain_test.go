package explain_test

import (
	"strings"
	"testing"

	"callgate/gate/internal/explain"
	"callgate/permissions"
)

// If an allow matches and does not count, the question says why, and what would count.
func TestAskSaysWhyAnAllowDoesNotCount(t *testing.T) {
	file, err := permissions.ParseFile("p.jsonc", []byte(`{"*": "ask", "read_file": "allow", "files_read": "allow"}`), "/home/me")
	if err != nil {
		t.Fatal(err)
	}
	p, err := permissions.NewPolicy(nil, file.Rules, nil)
	if err != nil {
		t.Fatal(err)
	}
	value := permissions.Subject{Value: "a.txt", Decides: permissions.Form{"/w/a.txt"}}
	guessed, several := value, value
	guessed.Tool, guessed.Kind = "notes_get", "read_file"
	several.Tool, several.Plain = "files_read_2", "files_read"
	for _, c := range []struct {
		subject permissions.Subject
		want    []string
	}{
		{guessed, []string{`would allow read_file "a.txt"`, "callgate guesses it", `Name notes_get in a rule, or set its kind under "tools"`}},
		{several, []string{"several tools of the server would be called files_read", "Name files_read_2 in a rule"}},
	} {
		f := permissions.Evaluate(p, permissions.Context{}, &c.subject)
		for _, want := range c.want {
			if got := explain.Ask(&f); !strings.Contains(got, want) {
				t.Errorf("%q lacks %q", got, want)
			}
		}
	}
}
