package command

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"callgate/audit"
	"callgate/gate/tools"
	"callgate/internal/app/anchor"
	"callgate/internal/command/cluster"
	"callgate/internal/config"
	"callgate/internal/output"
	"callgate/internal/presence"
)

func newAuditVerifyCommand(s *config.Settings) *cobra.Command {
	var asJSON, inCluster bool
	var heads []string
	var anchors string
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Check that nobody changed, cut or removed a log",
		Long: `Verify checks every record of every log against the hash chain, and the logs against the manifest. It names the
first broken record and exits with 1 if something does not fit. A log that is being written, or whose process was
killed, is not broken. It also checks that each passkey signed the call on record.

Whoever can write to the data directory can rewrite logs and manifest together. To detect that, keep heads
elsewhere: the key auditAnchor writes them to the system log or a file. Pass one with --head, or a file of them
with --anchors.

With --cluster, verify also checks the cluster's copies of all logs, and compares this replica's logs with them.`,
		Example: `  callgate audit verify
  callgate audit verify --cluster --config callgate.yaml
  journalctl -t callgate | callgate audit verify --anchors -
  callgate audit verify --head manifest.jsonl:12:4f0c…`,
		Args: config.NoArgs,
		RunE: config.Loaded(s, func(cmd *cobra.Command, c *config.Config, _ []string) error {
			dir := audit.Dir(c.DataDir)
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
				err = output.JSON(cmd.OutOrStdout(), report)
			} else {
				err = output.AuditReport(cmd.OutOrStdout(), dir, &report)
			}
			if len(report.Logs) == 0 && report.OK() && err == nil {
				err = fmt.Errorf("there is no audit trail in %s, so nothing was checked", dir)
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
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the report as JSON")
	cmd.Flags().BoolVar(&inCluster, "cluster", false, "also check the configured cluster")
	cmd.Flags().StringVar(&anchors, "anchors", "", "`file` with anchored heads, - for standard input")
	cmd.Flags().StringArrayVar(&heads, "head", nil, "a head that you kept elsewhere, FILE:SEQ:HASH; repeatable")
	return cmd
}
