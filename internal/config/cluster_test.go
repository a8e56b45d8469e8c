package config

import (
	"log/slog"
	"strings"
	"testing"

	"callgate/internal/cluster"
)

// TestTrailBounds accepts sensible bounds of the cluster's trail, and passes them to the replica.
func TestTrailBounds(t *testing.T) {
	for bytes, wrong := range map[int64]string{
		0: "", cluster.MinTrailBytes: "", 1 << 40: "",
		-1: "cluster.trailBytes: -1", 1: "cluster.trailBytes: 1:", cluster.MinTrailBytes - 1: "cluster.trailBytes",
	} {
		c := clusterConfig{URL: cluster.Embedded, Name: "a", Lease: cluster.DefaultLease, KeyVariable: "KEY_OF_A_TEST", TrailBytes: bytes}
		err := c.validate()
		if wrong != "" {
			if err == nil || !strings.HasPrefix(err.Error(), wrong) {
				t.Errorf("%d: %v", bytes, err)
			}
			continue
		}
		t.Setenv("KEY_OF_A_TEST", "a secret of a test that is long enough")
		if o, failed := c.Options(Files{}, "", slog.New(slog.DiscardHandler)); err != nil || failed != nil || o.TrailBytes != bytes {
			t.Errorf("%d: %+v, %v, %v", bytes, o.TrailBytes, err, failed)
		}
	}
}
