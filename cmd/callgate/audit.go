package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"callgate/audit"
	"callgate/cmd/callgate/internal/cluster"
	"callgate/gate"
	"callgate/gate/tools"
	"callgate/internal/app/anchor"
	"callgate/internal/config"
	"callgate/internal/output"
	"callgate/internal/presence"
)

func newAuditCommand(dataDir func() (string, error), s *config.Settings) *cobra.Command {
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

"callgate audit verify" checks whether anybody changed the logs. "callgate audit show" prints one call.`,
		Example: `  callgate audit --tail 20
  callgate audit --follow --decision denied
  callgate audit --tool 'filesystem_*' --since 2h --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir, err := auditDir(dataDir)
			if err != nil {
				return err
			}
			if filter.Decision != "" && !slices.Contains(decisions, filter.Decision) {
				return fmt.Errorf("--decision %q: use %s", filter.Decision, strings.Join(decisions, ", "))
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
			var records []audit.Record
			var damaged []error
			for r, err := range audit.Read(dir, filter) {
				if err != nil {
					damaged = append(damaged, err)
					continue
				}
				records = append(records, r)
			}
			for _, r := range slices.Backward(records) {
				if err := p.Print(&r); err != nil {
					return err
				}
			}
			return errors.Join(damaged...)
		},
	}
	cmd.Flags().IntVar(&filter.Limit, "tail", 50, "how many of the newest records; 0: all, or with --follow none")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print each record as a line of JSON")
	cmd.Flags().StringVar(&format, "format", "", "print records for security systems: ocsf (lines of JSON) or cef")
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "print new records as they are written")
	cmd.Flags().StringVar(&filter.SessionID, "session", "", "only this session")
	cmd.Flags().StringVar(&filter.Decision, "decision", "", "only this decision: "+strings.Join(decisions, ", "))
	cmd.Flags().StringVar(&filter.Tool, "tool", "", "only this tool, or a glob over tools")
	cmd.Flags().StringVar(&since, "since", "", "only since this time: 90m, 2026-11-20 or 2026-11-20T10:00:00Z")
	cmd.AddCommand(newAuditVerifyCommand(dataDir, s), newAuditShowCommand(dataDir))
	return cmd
}

func auditDir(dataDir func() (string, error)) (string, error) {
	dir, err := dataDir()
	if err != nil {
		return "", err
	}
	return audit.Dir(dir), nil
}

// decisions are the words that a record may have for what was decided.
var decisions = []string{
	gate.DecidedAutoApproved, gate.DecidedApproved, gate.DecidedRejected, gate.DecidedTrusted, gate.DecidedTimeout,
	gate.DecidedDenied, gate.DecidedCancelled, gate.DecidedPending, gate.DecidedLimited,
}

// followAudit prints until the command is cancelled, which is how it ends well.
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

func newAuditVerifyCommand(dataDir func() (string, error), s *config.Settings) *cobra.Command {
	var asJSON, inCluster bool
	var heads []string
	var anchors string
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Check that nobody changed, cut or removed a log",
		Long: `Verify checks every record of every log against the hash chain, and the logs against the manifest. It names the
first broken record and exits with 1 if something does not fit. A log that is being written, or whose process was
killed, is not broken. It checks every passkey's signature again, and that it was for the call on record.

Whoever can write to the data directory can rewrite logs and manifest together. To detect that, keep heads
elsewhere: the key auditAnchor writes them to the system log or a file. Pass one with --head, or a file of them
with --anchors.

With --cluster, verify checks the logs of all replicas too, as the cluster has them, and this replica's against them.`,
		Example: `  callgate audit verify
  callgate audit verify --cluster --config callgate.yaml
  journalctl -t callgate | callgate audit verify --anchors -
  callgate audit verify --head manifest.jsonl:12:4f0c…`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir, err := auditDir(dataDir)
			if err != nil {
				return err
			}
			var anchored []audit.Head
			for _, s := range heads {
				h, err := audit.ParseHead(s)
				if err != nil {
					return err
				}
				anchored = append(anchored, h)
			}
			if anchors != "" {
				kept, err := anchor.Read(anchors, dir, cmd.InOrStdin())
				if err != nil {
					return err
				}
				anchored = append(anchored, kept...)
			}
			report, err := audit.Verify(dir, anchored...)
			if err != nil {
				return err
			}
			proofs, unproved, err := presence.VerifyTrail(dir)
			if err != nil {
				return err
			}
			report.Proofs, report.Breaks = proofs, append(report.Breaks, unproved...)
			if asJSON {
				err = json.MarshalWrite(cmd.OutOrStdout(), report, jsontext.Multiline(true))
			} else {
				err = output.AuditReport(cmd.OutOrStdout(), dir, &report)
			}
			if first, broken := report.First(); broken && err == nil {
				err = fmt.Errorf("the audit trail is broken, first at %s", tools.Visible(first.String()))
				if more := len(report.Breaks) - 1; more > 0 {
					err = fmt.Errorf("%w (and at %d more)", err, more)
				}
			}
			if inCluster {
				err = errors.Join(err, cluster.VerifyTrail(cmd.Context(), s, dir, cmd.OutOrStdout(), asJSON))
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the report as JSON")
	cmd.Flags().BoolVar(&inCluster, "cluster", false, "check what the configured cluster has, too")
	cmd.Flags().StringVar(&anchors, "anchors", "", "`file` with anchored heads, - for standard input")
	cmd.Flags().StringArrayVar(&heads, "head", nil, "a head that you kept elsewhere, FILE:SEQ:HASH; repeatable")
	return cmd
}

func newAuditShowCommand(dataDir func() (string, error)) *cobra.Command {
	return &cobra.Command{
		Use:     "show CALLID",
		Short:   "Print everything on record about one call",
		Example: `  callgate audit show call_tosh72862382f3b7_5`,
		Args:    config.ArgsExactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, err := auditDir(dataDir)
			if err != nil {
				return err
			}
			var records []audit.Record
			var damaged []error
			for r, err := range audit.Read(dir, audit.Filter{CallID: args[0]}) {
				if err != nil {
					damaged = append(damaged, err)
					continue
				}
				records = append(records, r)
			}
			if len(records) == 0 {
				damaged = append(damaged, fmt.Errorf("no record of call %q", args[0]))
			}
			for _, r := range slices.Backward(records) {
				if err := output.AuditRecord(cmd.OutOrStdout(), &r); err != nil {
					return err
				}
			}
			return errors.Join(damaged...)
		},
	}
}
