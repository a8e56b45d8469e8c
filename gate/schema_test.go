package gate

import (
	"strings"
	"testing"
	"time"

	"callgate/gate/tools"
	"callgate/permissions"
)

// What the catalogue knows of a tool holds only for the arguments that it knows. A call asks and says so if it has a
// new or renamed argument, or one that holds something other than it is for.
func TestKnownToolsWithOtherArguments(t *testing.T) {
	files := tools.Server{Name: "f", Packages: []string{"@modelcontextprotocol/server-filesystem"}}
	place := tools.Place{Dir: t.TempDir(), Home: "/home/u"}
	for _, c := range []struct{ tool, arguments, says string }{
		{"read_text_file", `{"path":"a.txt"}`, ""},
		{"read_text_file", `{"path":"a.txt","head":3}`, ""},
		{"read_text_file", `{"path":"a.txt","follow":"x"}`, "follow"},
		{"read_text_file", `{"file_name":"a.txt"}`, "file_name"},
		{"read_text_file", `{"path":{"name":"a.txt"}}`, "path"},
		{"read_text_file", `{"path":["a.txt",3]}`, "path"},
		{"read_text_file", `{"path":3}`, "path"},
		{"read_multiple_files", `{"paths":["a.txt",{"path":".env"}]}`, "paths"},
		{"write_file", `{"path":"a.txt","content":"x"}`, ""},
		{"write_file", `{"path":"a.txt","content":"x","mode":"append"}`, "mode"},
	} {
		for _, level := range []Autonomy{AutonomyNone, FullAuto} {
			j := Judge{Policy: policy(t, `{ "*": "allow" }`), Autonomy: level, Now: time.Now()}
			v := j.Judge(Call{Tool: tools.Describe(files, c.tool, "f_"+c.tool, nil), Arguments: []byte(c.arguments), Place: place})
			said := false
			for _, m := range v.Marks {
				said = said || strings.Contains(m.Text, c.says)
			}
			if c.says == "" && v.Action != permissions.Allow || c.says != "" && (v.Action == permissions.Allow || v.Action == permissions.Ask && !said) {
				t.Errorf("%s %s: %v %q %v", c.tool, c.arguments, v.Action, v.Reason, v.Marks)
			}
		}
	}
}
