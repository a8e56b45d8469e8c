package app

import (
	"strings"
	"testing"

	"callgate/internal/cluster"
	"callgate/internal/companion/credentials"
	"callgate/internal/config"
)

// A cluster that has lost its credentials gets this replica's, which are newer than a backup's, unless this replica has
// none or the backup's are asked for.
func TestRestorationOfLostCredentials(t *testing.T) {
	c := &config.Config{DataDir: t.TempDir()}
	backup := `{"mcp":"` + strings.Repeat("a", 43) + `"}`
	all := []cluster.Difference{{Key: documentCredentials, Backup: cluster.Version{Text: []byte(backup)}}}
	said, o, err := Restoration(c, all, true, false)
	if _, instead := o.Instead[documentCredentials]; err != nil || instead || !strings.Contains(said[0], "come from the backup: mcp is there again") {
		t.Errorf("a replica without any: %v %q %v", said, o.Instead, err)
	}
	if _, err := credentials.Open(c.DataDir); err != nil {
		t.Fatal(err)
	}
	said, o, err = Restoration(c, all, true, false)
	if text := o.Instead[documentCredentials]; err != nil || text == nil || strings.Contains(string(text), "aaaa") || !strings.Contains(said[0], "are those of this replica") || !strings.Contains(said[0], "mcp has an older secret") {
		t.Errorf("a replica with some: %v %q %v", said, o.Instead, err)
	}
	if _, o, err = Restoration(c, all, true, true); err != nil || len(o.Instead) > 0 {
		t.Errorf("the backup's are asked for: %q %v", o.Instead, err)
	}
}
