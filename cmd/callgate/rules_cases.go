package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"
	"github.com/tailscale/hujson"

	"callgate/gate/tools"
	"callgate/permissions"
)

// ruleCase is one case of permissions.test.jsonc.
type ruleCase struct {
	Name string `json:"name,omitzero"`
	Call struct {
		Tool      string         `json:"tool"`
		Arguments jsontext.Value `json:"arguments,omitzero"` // an object, or the text of the main argument
		Cwd       string         `json:"cwd,omitzero"`
		Autonomy  *string        `json:"autonomy,omitzero"`
		Mode      *string        `json:"mode,omitzero"`
	} `json:"call"`
	Want string `json:"want"`

	source string // file:line, for messages
}

func newRulesTestCommand(s *settings) *cobra.Command {
	var rulesFile string
	cmd := &cobra.Command{
		Use:   "test [FILE]",
		Short: "Hold the rules against cases that say what must happen",
		Long: `Test judges the calls in FILE, by default permissions.test.jsonc beside the rules, exactly as the live gate
would, and compares:

  [
    { "name": "pushes wait for a person",
      "call": { "tool": "shell_exec", "arguments": "git push" }, "want": "ask" },
    { "call": { "tool": "read_file", "arguments": { "path": ".env" }, "cwd": "/src/app" }, "want": "deny" }
  ]

"want" is allow, deny or ask. A call may bring "cwd", "autonomy" and "mode". The exit code is 1 when a case
fails.`,
		Example: `  callgate rules test
  callgate rules test --file ci/permissions.jsonc ci/permissions.test.jsonc`,
		Args: between(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := s.load()
			if err != nil {
				return err
			}
			path := filepath.Join(filepath.Dir(c.permissionsFile()), "permissions.test.jsonc")
			if len(args) == 1 {
				path = args[0]
			}
			cases, err := readCases(path)
			if err != nil {
				return err
			}
			policy, err := filePolicy(rulesFile)
			if err != nil {
				return err
			}
			checker, err := newChecker(c)
			if err != nil {
				return err
			}
			return runCases(cmd.OutOrStdout(), checker, policy, cases)
		},
	}
	cmd.Flags().StringVar(&rulesFile, "file", "", "test this rules `file` instead of the worker's")
	return cmd
}

// readCases reads a file of cases.
func readCases(path string) ([]ruleCase, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf(`%s: no such file: write cases such as [{"call": {"tool": "read_file", "arguments": ".env"}, "want": "deny"}]`, path)
	}
	if err != nil {
		return nil, err
	}
	return parseCases(path, text)
}

// parseCases reads cases. Nothing is skipped: what is not understood is an error.
func parseCases(path string, text []byte) ([]ruleCase, error) {
	root, err := hujson.Parse(append(slices.Clip(text), '\n'))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	list, ok := root.Value.(*hujson.Array)
	if !ok {
		return nil, fmt.Errorf(`%s: cases are a list: [{"call": {"tool": …, "arguments": …}, "want": "deny"}]`, path)
	}
	if len(list.Elements) == 0 {
		return nil, fmt.Errorf("%s: it has no cases", path)
	}
	cases := make([]ruleCase, len(list.Elements))
	for i := range list.Elements {
		element := &list.Elements[i]
		c := &cases[i]
		c.source = path + ":" + strconv.Itoa(1+bytes.Count(text[:element.StartOffset], []byte("\n")))
		element.Standardize()
		if err := json.Unmarshal(bytes.TrimSpace(hujson.Value{Value: element.Value}.Pack()), c, json.RejectUnknownMembers(true)); err != nil {
			return nil, fmt.Errorf("%s: %w", c.source, err)
		}
		if !slices.Contains([]string{"allow", "deny", "ask"}, c.Want) {
			return nil, fmt.Errorf("%s: want %q: use allow, deny or ask", c.source, c.Want)
		}
	}
	return cases, nil
}

// runCases prints a line for each case that fails and one for all.
func runCases(w io.Writer, ch *checker, policy *permissions.Policy, cases []ruleCase) error {
	failed := 0
	for i := range cases {
		failure := cases[i].run(ch, policy)
		if failure == "" {
			continue
		}
		failed++
		if _, err := fmt.Fprintf(w, "FAIL %s\n", tools.Visible(cases[i].title()+": "+failure)); err != nil {
			return err
		}
	}
	if failed == 0 {
		_, err := fmt.Fprintf(w, "ok   %s\n", count(len(cases), "case"))
		return err
	}
	if _, err := fmt.Fprintf(w, "%d of %s failed\n", failed, count(len(cases), "case")); err != nil {
		return err
	}
	return exitCode(1)
}

// run returns what is wrong, "" when nothing is.
func (c *ruleCase) run(ch *checker, policy *permissions.Policy) string {
	request := checkRequest{Tool: c.Call.Tool, Arguments: c.Call.Arguments, Autonomy: c.Call.Autonomy, Mode: c.Call.Mode, Cwd: c.Call.Cwd}
	if request.Arguments.Kind() == '"' {
		var text string
		err := json.Unmarshal(request.Arguments, &text)
		if err == nil {
			request.Arguments, err = ch.arguments(request.Tool, text)
		}
		if err != nil {
			return err.Error()
		}
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

func (c *ruleCase) title() string {
	switch {
	case c.Name != "":
		return place(c.source) + " " + c.Name
	case c.Call.Arguments == nil:
		return place(c.source) + " " + c.Call.Tool
	}
	return place(c.source) + " " + c.Call.Tool + " " + shorten(string(c.Call.Arguments), maxAuditField)
}
