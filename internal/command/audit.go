package command

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"callgate/audit"
	"callgate/gate"
	"callgate/gate/tools"
	"callgate/internal/config"
	"callgate/internal/output"
)

func newAuditCommand(s *config.Settings) *cobra.Command {
	decisions := gate.Decisions()
	var (
		filter         audit.Filter
		since, format  string
		asJSON, follow bool
	)
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Show what was decided, by whom and why",
		Long: `Audit prints the newest records of all logs, oldest first: decisions, outcomes of calls, and changes of rules,
grants and autonomy. Secrets are redacted.

--format ocsf or cef prints what security systems read. callgate also sends records to the receivers that "export" in
callgate.yaml names:

  https://      batches: a JSON array for OCSF, lines for CEF. An answer of 2xx is the receipt.
  syslog+tls:// RFC 5424 with octet counting. There are no receipts: a record counts as received if the
                connection is still open five seconds later. syslog+tcp:// works on this machine only.
  s3+https://   one object for each 500 records or each minute, as gzip of one record a line, under its day

Each record is sent at least once, and again if callgate crashes or the receipt is missing. {dataDir}/export says how
far each receiver got. If a receiver is down or slow, callgate tries again within a minute, or when Retry-After says.
Meanwhile the records stay in the logs, and at most 1 MiB of them in memory.

"callgate audit verify" checks whether anybody changed the logs. "callgate audit show" prints one call.`,
		Example: `  callgate audit --tail 20
  callgate audit --follow --decision denied
  callgate audit --tool 'filesystem_*' --since 2h --json`,
		Args: config.NoArgs,
		RunE: config.Loaded(s, func(cmd *cobra.Command, c *config.Config, _ []string) (err error) {
			dir := audit.Dir(c.DataDir)
			if filter.Decision != "" && !slices.Contains(decisions, filter.Decision) {
				return fmt.Errorf("--decision %q: use %s", filter.Decision, strings.Join(decisions, ", "))
			}
			if filter.Limit < 0 {
				return fmt.Errorf("--tail %d: use 0 for all, or a positive number", filter.Limit)
			}
			if filter.Since, err = config.ParseSince(since, time.Now()); err != nil {
				return err
			}
			if worker := cmd.Flags().Lookup("worker"); worker != nil && worker.Changed {
				filter.Worker = worker.Value.String()
			}
			p := output.NewAuditTrail(cmd.OutOrStdout(), asJSON)
			if err := p.As(format); err != nil {
				return err
			}
			if follow {
				return followAudit(cmd, dir, filter, p)
			}
			n, err := printRecords(dir, filter, p.Print)
			if n == 0 && err == nil {
				fmt.Fprintf(cmd.ErrOrStderr(), "No records of this kind in %s.\n", tools.Visible(dir))
			}
			return err
		}),
	}
	cmd.Flags().IntVar(&filter.Limit, "tail", 50, "how many of the newest records; 0: all, or with --follow none")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print each record as a line of JSON")
	cmd.Flags().StringVar(&format, "format", "", "print records for security systems: ocsf (lines of JSON) or cef")
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "print new records as they are written")
	cmd.Flags().StringVar(&filter.SessionID, "session", "", "only this session")
	cmd.Flags().StringVar(&filter.Decision, "decision", "", "only this decision: "+strings.Join(decisions, ", "))
	cmd.Flags().StringVar(&filter.Tool, "tool", "", "only this tool, or a glob over tools")
	cmd.Flags().StringVar(&since, "since", "", "only since this time: 90m, 2026-11-20, \"2026-11-20 10:00\" or 2026-11-20T10:00:00Z")
	cmd.AddCommand(newAuditVerifyCommand(s), newAuditShowCommand(s))
	return cmd
}

// printRecords prints records, oldest first, and returns their number.
func printRecords(dir string, f audit.Filter, show func(*audit.Record) error) (int, error) {
	var records []audit.Record
	var damaged []error
	for r, err := range audit.Read(dir, f) {
		if err != nil {
			damaged = append(damaged, err)
			continue
		}
		records = append(records, r)
	}
	for _, r := range slices.Backward(records) {
		if err := show(&r); err != nil {
			return len(records), err
		}
	}
	return len(records), errors.Join(damaged...)
}

// followAudit prints new records until the command is cancelled, which counts as success.
func followAudit(cmd *cobra.Command, dir string, f audit.Filter, p *output.AuditTrail) error {
	for r, err := range audit.Follow(cmd.Context(), dir, f) {
		if err != nil {
			cmd.PrintErrln("callgate:", tools.Visible(err.Error()))
			continue
		}
		if err := p.Print(&r); err != nil {
			return err
		}
	}
	return nil
}

func newAuditShowCommand(s *config.Settings) *cobra.Command {
	return &cobra.Command{
		Use:     "show CALLID",
		Short:   "Print everything on record about one call",
		Example: `  callgate audit show call_tosh72862382f3b7_5`,
		Args:    config.ArgsExactly(1),
		RunE: config.Loaded(s, func(cmd *cobra.Command, c *config.Config, args []string) error {
			dir := audit.Dir(c.DataDir)
			n, err := printRecords(dir, audit.Filter{CallID: args[0]}, func(r *audit.Record) error { return output.AuditRecord(cmd.OutOrStdout(), r) })
			if n == 0 {
				err = errors.Join(err, fmt.Errorf("no record of call %q", args[0]))
			}
			return err
		}),
	}
}
