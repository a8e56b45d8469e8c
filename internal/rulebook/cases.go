package rulebook

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/tailscale/hujson"

	"callgate/gate/tools"
	"callgate/internal/jsonx"
	"callgate/internal/visible"
	"callgate/permissions"
)

// Case is one case of permissions.test.jsonc.
type Case struct {
	Name string `json:"name,omitzero"`
	Call struct {
		Tool      string         `json:"tool"`
		Arguments jsontext.Value `json:"arguments,omitzero"` // an object, or the text of the main argument
		Cwd       string         `json:"cwd,omitzero"`
		Autonomy  *string        `json:"autonomy,omitzero"`
		Mode      *string        `json:"mode,omitzero"`
		Given     *Given         `json:"given,omitzero"`
	} `json:"call"`
	Want string `json:"want"`

	Source string `json:"-"` // file:line, for messages
}

// ReadCases reads a file of cases.
func ReadCases(path string) ([]Case, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf(`%s: no such file: write cases such as [{"call": {"tool": "read_file", "arguments": ".env"}, "want": "deny"}]`, path)
	}
	if err != nil {
		return nil, err
	}
	return ParseCases(path, text)
}

// ParseCases parses cases. It skips nothing: whatever it does not understand is an error.
func ParseCases(path string, text []byte) ([]Case, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, fmt.Errorf("%s: the file is empty", path)
	}
	root, err := hujson.Parse(append(slices.Clip(text), '\n'))
	if err != nil {
		var line, column int
		if n, _ := fmt.Sscanf(err.Error(), "hujson: line %d, column %d:", &line, &column); n == 2 {
			return nil, fmt.Errorf("%s:%d:%d: this is not JSON: look for a missing comma, quote or bracket there or just before", path, line, column)
		}
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	list, ok := root.Value.(*hujson.Array)
	if !ok {
		return nil, fmt.Errorf(`%s: cases must be a list: [{"call": {"tool": …, "arguments": …}, "want": "deny"}]`, path)
	}
	if len(list.Elements) == 0 {
		return nil, fmt.Errorf("%s: it has no cases", path)
	}
	cases := make([]Case, len(list.Elements))
	for i := range list.Elements {
		element := &list.Elements[i]
		c := &cases[i]
		c.Source = path + ":" + strconv.Itoa(1+bytes.Count(text[:element.StartOffset], []byte("\n")))
		element.Standardize()
		if err := json.Unmarshal(bytes.TrimSpace(hujson.Value{Value: element.Value}.Pack()), c, json.RejectUnknownMembers(true)); err != nil {
			return nil, fmt.Errorf("%s: %w", c.Source, jsonx.Explain(err))
		}
		if !slices.Contains([]string{"allow", "deny", "ask"}, c.Want) {
			return nil, fmt.Errorf("%s: want %q: use allow, deny or ask", c.Source, c.Want)
		}
	}
	return cases, nil
}

// Result is the outcome of one case.
type Result struct {
	Case    *Case
	Failure string // "" if the case holds
}

// RunCases judges every case by the policy, or by the worker's file if policy is nil.
func RunCases(ch *Checker, policy *permissions.Policy, cases []Case) []Result {
	results := make([]Result, len(cases))
	for i := range cases {
		results[i] = Result{&cases[i], cases[i].run(ch, policy)}
	}
	return results
}

// PrintResults prints a line for each failed case and one line for all. It returns the number of failed cases.
func PrintResults(w io.Writer, results []Result) (failed int, err error) {
	for _, r := range results {
		if r.Failure == "" {
			continue
		}
		failed++
		if _, err := fmt.Fprintf(w, "FAIL %s\n", tools.Visible(r.Case.title()+": "+r.Failure)); err != nil {
			return failed, err
		}
	}
	if failed == 0 {
		_, err := fmt.Fprintf(w, "ok   %s\n", visible.Count(len(results), "case"))
		return 0, err
	}
	_, err = fmt.Fprintf(w, "%d of %s failed\n", failed, visible.Count(len(results), "case"))
	return failed, err
}

// run returns why the case fails, or "" if it holds.
func (c *Case) run(ch *Checker, policy *permissions.Policy) string {
	request := Request{Tool: c.Call.Tool, Arguments: c.Call.Arguments, Autonomy: c.Call.Autonomy, Mode: c.Call.Mode, Cwd: c.Call.Cwd, Given: c.Call.Given}
	var err error
	if request.Arguments, err = ch.written(request.Tool, request.Arguments); err != nil {
		return err.Error()
	}
	v, err := ch.verdict(request, policy)
	if err != nil {
		return err.Error()
	}
	if v.Action.String() == c.Want {
		return ""
	}
	return fmt.Sprintf("want %s, got %s by %s", c.Want, v.Action, decidedBy(&v))
}

func (c *Case) title() string {
	switch {
	case c.Name != "":
		return place(c.Source) + " " + c.Name
	case c.Call.Arguments == nil:
		return place(c.Source) + " " + c.Call.Tool
	}
	return place(c.Source) + " " + c.Call.Tool + " " + visible.Shorten(string(c.Call.Arguments), maxField)
}
