package command

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"callgate/internal/command/approve"
	"callgate/internal/command/checkpoints"
	"callgate/internal/command/cluster"
	"callgate/internal/command/connect"
	"callgate/internal/command/exit"
	"callgate/internal/command/rules"
	"callgate/internal/command/search"
	"callgate/internal/config"
	"callgate/internal/output"
)

// execute runs the command line and returns the exit code: 0 for success, 1 for failure or a wrong command line, or a
// code that the subcommand defines.
func execute(ctx context.Context, args []string) int {
	root, settings := newRootCommand()
	root.SetArgs(askForHelp(args))
	err := root.ExecuteContext(ctx)
	var code exit.Code
	switch {
	case err == nil:
		return 0
	case errors.As(err, &code):
		return int(code)
	default:
		_ = output.Text(os.Stderr, fmt.Sprintf("callgate: %v\n", config.ExplainFlags(err))) // there is nowhere left to report an error
		if errors.Is(err, config.ErrNoServers) {
			fmt.Fprint(os.Stderr, config.OfConnected(args))
		}
		fmt.Fprint(os.Stderr, settings.HintUnwritable(err))
		return 1
	}
}

func newRootCommand() (*cobra.Command, *config.Settings) {
	root := &cobra.Command{
		Use:   "callgate",
		Short: "Gate every MCP tool call: rules answer first, a person decides the rest",
		Long: `callgate stands between an LLM host (Claude Code, Cursor, VS Code, any MCP client) and its MCP
servers. Every tool call passes a gate: your rules decide first, and you decide the rest, on a web page, in a terminal,
over REST or over WebSocket. Everything is recorded.

Run "callgate connect" to put it in front of the servers of your hosts, or add "callgate run" to a host yourself.`,
		Example: `  callgate connect                                # put callgate in front of the servers of your hosts
  callgate run --mcp-config servers.mcp.json      # all servers of a host, behind one gate
  callgate wrap -- npx -y @modelcontextprotocol/server-filesystem@2026.8.31 .
  callgate serve --mcp-config servers.mcp.json    # the same for any number of hosts, over HTTP
  callgate open                                   # answer calls on a page
  callgate approve                                # or in this terminal
  callgate check shell_exec 'git push && rm -rf build'
  callgate audit --tail 20
  callgate checkpoints list                       # what calls changed in files`,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	// cobra's own flag prints with a template, and the template package keeps every method of every type in the binary.
	version := root.Flags().BoolP("version", "v", false, "version for callgate")
	root.RunE = func(cmd *cobra.Command, _ []string) error {
		if *version {
			return printVersion(cmd)
		}
		return guide(cmd)
	}
	root.SetFlagErrorFunc(config.ExplainFlag)
	settings := config.NewSettings(root.PersistentFlags())
	root.PersistentPreRunE = func(cmd *cobra.Command, args []string) error {
		if *version {
			return nil
		}
		if err := refuseHooks(cmd, args); err != nil {
			return err
		}
		return settings.CheckWorker(cmd)
	}
	root.AddCommand(
		settings.Relaying(newRunCommand(settings)), settings.Relaying(newServeCommand(settings)), settings.Relaying(newWrapCommand(settings)), settings.Relaying(newCallCommand(settings)), settings.Listening(newHubCommand(settings)),
		settings.Judging(newCheckCommand(settings)), settings.Judging(newToolsCommand(settings)), settings.Judging(newServersCommand(settings)), settings.Naming(newLoginCommand(settings)), settings.Naming(newLogoutCommand(settings)), settings.Judging(rules.NewCommand(settings)),
		connect.NewConnectCommand(settings), newDemoCommand(settings), connect.NewDisconnectCommand(settings), approve.NewCommand(settings), approve.NewFreezeCommand(settings), approve.NewUnfreezeCommand(settings), approve.NewOpenCommand(settings), newAuditCommand(settings),
		settings.Judging(newReportCommand(settings)),
		newCredentialsCommand(settings), newPasskeysCommand(settings), newSecretsCommand(settings),
		newHooksCommand(settings), cluster.NewCommand(settings), settings.Relaying(newHookCommand(settings)), settings.Judging(newDoctorCommand(settings)), newStatusCommand(settings), settings.Keeping(checkpoints.NewCommand(settings)),
		settings.Searching(search.NewIndexCommand(settings)), settings.Searching(search.NewSearchCommand(settings)), settings.Searching(search.NewKBCommand(settings)), newConfigCommand(), newManCommand(), newVersionCommand(),
	)
	config.ExplainGroups(root)
	explainCommands(settings, root)
	completeValues(settings, root)
	return root, settings
}
