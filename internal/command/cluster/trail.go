package cluster

import (
	"context"
	"fmt"
	"io"

	"callgate/gate/tools"
	"callgate/internal/config"
	"callgate/internal/output"
)

// VerifyTrail checks the cluster's trail, and compares this replica's logs with it.
func VerifyTrail(ctx context.Context, s *config.Settings, dir string, out io.Writer, asJSON bool) error {
	_, one, err := look(ctx, s, false)
	if err != nil {
		return err
	}
	defer one.Close()
	logs, err := one.VerifyTrail(ctx, dir)
	if err != nil {
		return err
	}
	var breaks []string
	records := 0
	for _, l := range logs {
		records += l.Records
		for _, b := range l.Breaks {
			breaks = append(breaks, fmt.Sprintf("%s of %s: %s", l.Log, l.Replica, b))
		}
	}
	if asJSON {
		err = output.JSON(out, logs)
	} else {
		_, err = fmt.Fprintf(out, "the cluster has %d records in %d logs\n", records, len(logs))
		for _, l := range logs {
			if err == nil && l.Behind > 0 {
				_, err = fmt.Fprintf(out, "  %s of %s: %d records are not there yet\n", l.Log, l.Replica, l.Behind)
			}
		}
		for _, b := range breaks {
			if err == nil {
				_, err = fmt.Fprintf(out, "  broken: %s\n", tools.Visible(b))
			}
		}
	}
	if err == nil && len(breaks) > 0 {
		err = fmt.Errorf("the cluster's trail is broken, first at %s", tools.Visible(breaks[0]))
	}
	return err
}
