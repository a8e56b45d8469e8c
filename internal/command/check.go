package command

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"callgate/internal/app"
	"callgate/internal/command/approve"
	"callgate/internal/command/exit"
	"callgate/internal/config"
	"callgate/internal/output"
	"callgate/internal/rulebook"
	"callgate/permissions"
)

func newCheckCommand(s *config.Settings) *cobra.Command {
	var fromStdin, asJSON, explain bool
	var session string
	cmd := &cobra.Command{
		Use:   "check TOOL [ARGUMENTS]",
		Short: "Show what would happen to a call and why, without running it",
		Long: `Check judges a call exactly as the gate would. TOOL is a kind (shell_exec, read_file, …) or the
qualified name of a configured server's tool, judged by the definition that the server sent last (callgate tools
fetches definitions again). ARGUMENTS is a JSON object, or the main argument as text: a command, a path.

With --stdin it reads one JSON object a line,
  {"id"?, "tool", "arguments", "permissions"?, "autonomy"?, "mode"?, "cwd"?, "given"?}
and prints one line for each. "arguments" can also be text. "permissions" replaces the worker's rules file for that
line. "given" sets what the conditions of rules look at: {"host", "agent", "branch", "person", "at", "ran": [{"tool", "arguments", "ago", "failed"}]}.

With --session it judges the call after the history in FILE, which has one JSON object a line: {"prompt": "…"} for what
the user said, {"tool", "arguments", "result"} for an earlier call. The reason names the result that a word came from.

Exit codes: 0 allow, 3 ask, 4 deny; with --stdin, 0 once every line was answered.`,
		Example: `  callgate check shell_exec 'git push && rm -rf build'
  callgate check read_file .env
  callgate check --json filesystem_write_file '{"path":"a.txt","content":"x"}'
  callgate check --stdin < calls.jsonl`,
		Args: func(_ *cobra.Command, args []string) error {
			if fromStdin && len(args) > 0 {
				return errors.New("--stdin takes no arguments: the calls come from standard input")
			}
			if !fromStdin && (len(args) == 0 || len(args) > 2) {
				return errors.New("check needs a tool and its arguments, as in: callgate check shell_exec 'git status'")
			}
			return nil
		},
		RunE: config.Loaded(s, func(cmd *cobra.Command, c *config.Config, args []string) error {
			checker, done, err := app.OpenChecker(cmd.Context(), c, cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			defer done()
			frozen := app.Frozen(cmd.Context(), c)
			checker.Explain, checker.Judge.Freezer = explain, frozen
			if session != "" {
				if err := rememberFile(checker, session); err != nil {
					return err
				}
			}
			if fromStdin {
				return checker.Lines(cmd.InOrStdin(), cmd.OutOrStdout())
			}
			request := rulebook.Request{Tool: args[0]}
			if len(args) == 2 {
				if request.Arguments, err = checker.Arguments(args[0], args[1]); err != nil {
					return explainConnected(err, c, args[0])
				}
			}
			approve.TellFrozen(cmd.ErrOrStderr(), frozen)
			answer := checker.Check(request)
			if answer.Error != "" {
				return explainConnected(errors.New(answer.Error), c, args[0])
			}
			if asJSON {
				err = output.JSON(cmd.OutOrStdout(), answer)
			} else {
				err = answer.Print(cmd.OutOrStdout())
			}
			if err != nil {
				return err
			}
			if _, err := checker.Policy(); err != nil {
				fmt.Fprint(cmd.ErrOrStderr(), s.HintUnwritable(err))
			}
			return exitOf(answer)
		}),
	}
	cmd.Flags().AddFlagSet(s.Shared)
	cmd.Flags().BoolVar(&fromStdin, "stdin", false, "read calls from standard input, a JSON object a line")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&explain, "explain", false, "also show the rules and grants that did not decide, and why")
	cmd.Flags().StringVar(&session, "session", "", "judge as after the prompts and results in `FILE`")
	return cmd
}

// rememberFile reads a session's history from a file into the checker.
func rememberFile(checker *rulebook.Checker, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := checker.Remember(f); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// exitOf returns the exit code for a verdict.
func exitOf(a rulebook.Answer) error {
	switch a.Action {
	case permissions.Allow.String():
		return nil
	case permissions.Ask.String():
		return exit.Code(3)
	default:
		return exit.Code(4)
	}
}
