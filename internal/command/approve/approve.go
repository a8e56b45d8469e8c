// Package approve has the commands for approvers: approve, open, freeze and unfreeze.
package approve

import (
	"github.com/spf13/cobra"

	"callgate/internal/app"
	"callgate/internal/command/exit"
	companionclient "callgate/internal/companion/client"
	"callgate/internal/companion/credentials"
	"callgate/internal/companion/wire"
	"callgate/internal/config"
)

// Exit codes of "approve --once", besides 0 for an approval.
const (
	exitRejected  exit.Code = 3
	exitWithdrawn exit.Code = 4
)

// Approving holds the flags of approve.
type Approving struct {
	once, next, plain, asJSON, notify, noColor, desktop, channels bool
	address                                                       string
	sessions                                                      []string
	as                                                            string // person whose credential is shown; "" means the shared credential
	Folder                                                        string // Next only shows calls of a host in this folder; "" means all
}

func NewCommand(s *config.Settings) *cobra.Command {
	var o Approving
	cmd := &cobra.Command{
		Use:   "approve",
		Short: "Answer waiting calls in this terminal",
		Long: `Approve shows each call that waits for a person, and takes your answer. On a terminal it fills the
screen:

  y                approve this call, once
  n                deny it; the text you type goes to the model
  a                approve, and always allow a pattern that you pick
  e                edit the arguments in $VISUAL or $EDITOR, then approve
  arrows, Enter    choose; Enter takes the chosen answer (Deny at first)
  Space            scroll; y, a and e work once you have seen the end of the arguments
  u                set the autonomy of the session
  Tab              go to the sessions and servers, the audit trail, and the tools
  ?                show all keys

After a question appears, keys count only once you pause typing, so you cannot answer it by accident.

--plain asks line by line, for simple terminals (the default if TERM is "dumb"): y, n [text],
a [numbers] [session|worker], v to see all arguments, s to skip, q to quit.

--json prints every frame of protocol version 1 as one line of JSON. Each line of standard input is a frame:
tool_approve, set_autonomy, cancel, agent_add, agent_remove, chat, or one of kb_….

--channels asks in the channels of callgate.yaml: Slack, Discord, Matrix, Telegram, ntfy, webhooks, push, email
(docs/chat.md).

--desktop asks in desktop notifications, with no page or terminal open. On Linux they have the buttons Approve (for
low risk), Deny and Open; on macOS and Windows a notification only says that a call waits.

Exit codes: 0 quit, or approved with --once; 1 failed; with --once, 3 rejected and 4 timed out or withdrawn.`,
		Example: `  callgate approve
  callgate approve --next    # one question, one key
  callgate approve --once --notify
  callgate approve --json | jq 'select(.type == "tool_approve_request")'
  callgate approve --channels &
  callgate approve --desktop &`,
		Args: config.NoArgs,
		RunE: config.Loaded(s, func(cmd *cobra.Command, c *config.Config, _ []string) error {
			switch {
			case o.channels:
				return companionclient.Cure(approveChannels(cmd.Context(), c, o), c.Program())
			case o.desktop:
				return companionclient.Cure(approveDesktop(cmd.Context(), c, o), c.Program())
			}
			run := approve
			if o.next {
				run = Next
			}
			outcome, err := run(cmd.Context(), c.DataDir, o)
			switch {
			case err != nil:
				return companionclient.Cure(err, c.Program())
			case outcome == wire.Rejected:
				return exitRejected
			case outcome == wire.Withdrawn:
				return exitWithdrawn
			}
			return nil
		}),
	}
	flags := cmd.Flags()
	flags.BoolVar(&o.once, "once", false, "end after the first approval")
	flags.BoolVar(&o.next, "next", false, "show the oldest waiting call and take one key: y or n")
	flags.BoolVar(&o.plain, "plain", false, "ask line by line instead of filling the screen")
	flags.BoolVar(&o.asJSON, "json", false, "print frames and read answers as JSON lines")
	flags.BoolVar(&o.notify, "notify", false, "ring the terminal's bell for each waiting call")
	flags.BoolVar(&o.channels, "channels", false, "ask in the channels of callgate.yaml: Slack, Discord, Matrix, Telegram, ntfy, webhooks, push, email")
	flags.BoolVar(&o.desktop, "desktop", false, "ask in desktop notifications")
	flags.BoolVar(&o.noColor, "no-color", false, "use no colors; NO_COLOR in the environment does the same")
	flags.StringArrayVar(&o.sessions, "session", nil, "show only the session with this `id`; repeatable")
	flags.StringVar(&o.as, "as", "", "answer as this `person`, with their own credential (callgate credentials add)")
	flags.StringVar(&o.address, "address", "", "`host:port` of the companion, or https://host:port on another machine (default: the hub of the data directory)")
	cmd.MarkFlagsMutuallyExclusive("plain", "json", "desktop", "channels")
	cmd.MarkFlagsMutuallyExclusive("next", "json", "desktop", "channels") // --next never fills the screen, so --plain may go with it
	cmd.MarkFlagsMutuallyExclusive("once", "desktop", "channels")
	cmd.MarkFlagsMutuallyExclusive("as", "channels")
	cmd.MarkFlagsMutuallyExclusive("plain", "notify")
	cmd.MarkFlagsMutuallyExclusive("json", "notify")
	return cmd
}

// As returns the credential that a person shows, and the name for the record. For "", these are the shared credential
// and the person at this terminal.
func As(role credentials.Credential, person string) (credentials.Credential, string, error) {
	if person == "" {
		return role, app.UserName(), nil
	}
	credential, err := credentials.Of(role, person)
	return credential, person, err
}
