package command

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/spf13/cobra"

	"callgate/internal/app"
	"callgate/internal/command/exit"
	"callgate/internal/config"
	"callgate/internal/output"
	"callgate/internal/rulebook"
	"callgate/proxy"
)

// Exit codes of call besides 0 and 1.
const (
	exitToolError exit.Code = 3
	exitRefused   exit.Code = 4
)

func newCallCommand(s *config.Settings) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "call TOOL [ARGUMENTS|-]",
		Short: "Call one tool through the gate, from a shell",
		Long: `Call starts the server of the tool, sends one call through the gate, and prints what the tool returns.
ARGUMENTS is a JSON object, the main argument as text (a command, a path), or - to read a JSON object from standard
input. If the rules ask, the call waits until you answer, on the page or in another terminal.

The exit code is 0 when the tool ran, 3 when it reported an error, 4 when the gate refused the call, and 1 when the call
could not be made.`,
		Example: `  callgate call files_read_text_file README.md
  jq -n '{title: "Broken link"}' | callgate call github_create_issue - --json`,
		Args: config.ArgsBetween(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			arguments, text, err := callArguments(args[1:], cmd.InOrStdin())
			if err != nil {
				return err
			}
			c, err := s.Load()
			if err != nil {
				return err
			}
			if !cmd.Flags().Changed("log-level") {
				c.Level = slog.LevelWarn
			}
			c.HandOver = -1 // nobody would repeat the call
			servers, err := c.ProxyServers()
			if err == nil {
				servers, err = serverOf(args[0], servers)
			}
			if err != nil {
				return err
			}
			result, err := app.Call(cmd.Context(), c, servers, args[0], arguments, text)
			if err != nil {
				return err
			}
			return printResult(cmd.OutOrStdout(), os.Stderr, result, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the whole result as JSON")
	return cmd
}

// serverOf returns the server that the tool's name begins with, or all servers for one of callgate's own tools.
func serverOf(tool string, servers []proxy.Server) ([]proxy.Server, error) {
	names := make([]string, len(servers))
	for i, s := range servers {
		names[i] = s.Tools.Name
	}
	if i := slices.IndexFunc(names, func(name string) bool { return strings.HasPrefix(tool, name+"_") }); i >= 0 {
		return servers[i : i+1], nil
	}
	if strings.HasPrefix(tool, proxy.OwnName+"_") {
		return servers, nil
	}
	return nil, fmt.Errorf("unknown tool: %s: the name of a tool begins with that of its server and _, and the servers are %s", tool, strings.Join(names, ", "))
}

// callArguments returns the arguments of a call: an object, read from stdin for "-" and {} if nothing is given; or a
// text, with a nil object.
func callArguments(given []string, stdin io.Reader) (object jsontext.Value, text string, err error) {
	if len(given) == 0 {
		return jsontext.Value("{}"), "", nil
	}
	text = given[0]
	fromStdin := text == "-"
	if fromStdin {
		read, err := io.ReadAll(stdin)
		if err != nil {
			return nil, "", fmt.Errorf("standard input: %w", err)
		}
		text = string(read)
	}
	object, is, err := rulebook.Object(text)
	if err == nil && !is && fromStdin {
		err = errors.New(`standard input has no JSON object: write {"path":"README.md"}`)
	}
	return object, text, err
}

// printResult prints the text of a result, or all of it as JSON. It returns how the call ended, as an exit code.
func printResult(out, errs io.Writer, result *mcp.CallToolResult, asJSON bool) error {
	var text strings.Builder
	for _, content := range result.Content {
		if t, ok := content.(mcp.TextContent); ok {
			fmt.Fprintln(&text, t.Text)
		} else {
			kind, _ := json.Marshal(content)
			fmt.Fprintln(&text, string(kind))
		}
	}
	if len(result.Content) == 0 && result.StructuredContent != nil {
		structured, err := json.Marshal(result.StructuredContent, json.Deterministic(true), jsontext.WithIndent("  "))
		if err != nil {
			return err
		}
		fmt.Fprintln(&text, string(structured))
	}
	var err error
	switch {
	case asJSON:
		err = output.JSON(out, result)
	case result.IsError:
		err = output.Text(errs, text.String())
	default:
		err = output.Text(out, text.String())
	}
	switch {
	case err != nil:
		return err
	case result.IsError && strings.HasPrefix(text.String(), "callgate"):
		return exitRefused
	case result.IsError:
		return exitToolError
	}
	return nil
}
