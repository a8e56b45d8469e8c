package approve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"callgate/audit"
	"callgate/gate"
	"callgate/internal/app"
	companionclient "callgate/internal/companion/client"
	"callgate/internal/companion/credentials"
	"callgate/internal/companion/wire"
	"callgate/internal/config"
	"callgate/internal/visible"
)

// NewFreezeCommand returns callgate freeze.
func NewFreezeCommand(s *config.Settings) *cobra.Command {
	var session, until, reason, as string
	var all, list bool
	cmd := &cobra.Command{
		Use:   "freeze",
		Short: "Refuse every call that does more than read",
		Long: `Freeze stops every call that does more than read, in all sessions or in one, whatever rules, levels and grants say,
even with the gate off. It refuses a waiting call even after a yes, and tells the model why.

A freeze applies from the next call of every process, even after a restart, until its time ends or you run
"callgate unfreeze". You need the credential of a person who may approve.`,
		Example: `  callgate freeze --reason "release day"
  callgate freeze --until 2h
  callgate freeze --until 2026-12-24T18:00:00Z --session s-ABCDEFGHIJKL
  callgate freeze --list`,
		Args: config.NoArgs,
		RunE: config.Loaded(s, func(cmd *cobra.Command, c *config.Config, _ []string) error {
			dir, out := c.DataDir, cmd.OutOrStdout()
			if list {
				return printFrozen(cmd.Context(), out, c, "Nothing is frozen.\n")
			}
			if all && session != "" {
				return errors.New("--all and --session: choose one")
			}
			end, err := readUntil(until, time.Now())
			if err != nil {
				return err
			}
			one := wire.FreezeRequest{SessionID: session, Until: end, Reason: reason}
			if err := changeFreeze(cmd.Context(), dir, as, http.MethodPut, one, func(f app.DirFreezer, who audit.Author) error {
				return f.Freeze(gate.Freeze{SessionID: one.SessionID, Until: one.Until, Reason: one.Reason}, who)
			}); err != nil {
				return err
			}
			if session != "" && !sessionKnown(cmd.Context(), dir, session) {
				fmt.Fprintln(cmd.ErrOrStderr(), "No open session has this id: look for it on the page, or in callgate audit --json.")
			}
			if app.ToldLater(c) {
				fmt.Fprintln(cmd.ErrOrStderr(), "No replica runs here, so the others are not frozen until one does: freeze at one that runs.")
			}
			return printFrozen(cmd.Context(), out, c, "")
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&until, "until", "", "end it at this `time`: a duration (2h), a time of today (18:00) or a date and time (2026-12-24T18:00:00Z)")
	flags.StringVar(&session, "session", "", "freeze only the session with this `id`")
	flags.BoolVar(&all, "all", false, "freeze all sessions (the default)")
	flags.StringVar(&reason, "reason", "", "`text` for the model and other people")
	flags.BoolVar(&list, "list", false, "print what is frozen and change nothing")
	flags.StringVar(&as, "as", "", "do it as this `person`, with their own credential (callgate credentials add)")
	return cmd
}

// changeFreeze has the running callgate change a freeze, which takes effect at once. If none runs, it calls here.
func changeFreeze(ctx context.Context, dataDir, as, method string, body wire.FreezeRequest, here func(app.DirFreezer, audit.Author) error) error {
	credential, person, err := As(credentials.Approve, as)
	if err != nil {
		return err
	}
	target := companionclient.Target{DataDir: dataDir, Credential: credential, Client: wire.ClientInfo{Name: person, Version: app.Version, Kind: "tui"}}
	err = target.Ask(ctx, method, "/api/freeze", body, nil)
	if !errors.Is(err, wire.ErrNotRunning) && !errors.Is(err, wire.ErrUnreachable) {
		return companionclient.Cure(err, config.Program(dataDir))
	}
	if as != "" {
		return fmt.Errorf("%w: to do it as %s, somebody has to check the credential", companionclient.Cure(err, config.Program(dataDir)), as)
	}
	if _, err := credentials.Open(dataDir); err != nil { // refuses credentials that others can use
		return err
	}
	return here(app.DirFreezer{DataDir: dataDir}, audit.Author{By: "cli:" + person})
}

// sessionKnown reports whether the running callgate has the session open. If no callgate can be asked, it reports
// whether the trail has the session.
func sessionKnown(ctx context.Context, dataDir, id string) bool {
	var open struct {
		Sessions []gate.SessionInfo `json:"sessions"`
	}
	err := companionclient.Target{DataDir: dataDir, Credential: credentials.View}.Ask(ctx, http.MethodGet, "/api/sessions", nil, &open)
	if err == nil {
		return slices.ContainsFunc(open.Sessions, func(s gate.SessionInfo) bool { return s.ID == id })
	}
	for r, err := range audit.Read(audit.Dir(dataDir), audit.Filter{SessionID: id}) {
		if err == nil && r.By == "" { // the freeze itself has an author, so it does not count
			return true
		}
	}
	return false
}

// TellFrozen prints the freezes in force, or that they cannot be read. It prints nothing if there are none.
func TellFrozen(w io.Writer, frozen app.Freezes) {
	if err := say(w, frozen, ""); err != nil {
		fmt.Fprintln(w, err)
	}
}

// printFrozen prints what is frozen now, or none if nothing is.
func printFrozen(ctx context.Context, w io.Writer, c *config.Config, none string) error {
	return say(w, app.Frozen(ctx, c), none)
}

func say(w io.Writer, frozen app.Freezes, none string) error {
	for _, one := range frozen.List {
		if _, err := fmt.Fprintln(w, "Frozen: "+visible.Text(one.Told())); err != nil {
			return err
		}
	}
	if frozen.Unknown != nil {
		return fmt.Errorf("cannot read what is frozen, so only reading is sure to go through: %w", frozen.Unknown)
	}
	if len(frozen.List) > 0 {
		return nil
	}
	_, err := io.WriteString(w, none)
	return err
}

// readUntil parses the end of a freeze. It returns the zero time for "".
func readUntil(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	var until time.Time
	var err error
	if d, notDuration := time.ParseDuration(text); notDuration == nil {
		until = now.Add(d)
	} else if clock, notClock := time.ParseInLocation("15:04", text, now.Location()); notClock == nil {
		until = time.Date(now.Year(), now.Month(), now.Day(), clock.Hour(), clock.Minute(), 0, 0, now.Location())
		if !until.After(now) {
			until = until.AddDate(0, 0, 1)
		}
	} else if until, err = time.Parse(time.RFC3339, text); err != nil {
		return until, fmt.Errorf("--until %q: use a duration (2h), a time of the day (18:00) or a date and time (2026-12-24T18:00:00Z)", text)
	}
	if !until.After(now) {
		return until, fmt.Errorf("--until %q is in the past", text)
	}
	return until.UTC(), nil
}
