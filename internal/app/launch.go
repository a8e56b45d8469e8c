package app

import (
	"context"
	"os"

	"callgate/internal/companion/client"
	"callgate/internal/companion/credentials"
	"callgate/internal/hosthooks"
)

// Version is set when a release is built.
var Version = "dev"

// LaunchHub starts a hub that outlives this process, and waits until it answers. config is its configuration file, or
// "" for the usual one.
func LaunchHub(ctx context.Context, dataDir, config string) error {
	args := []string{"hub", "--data-dir=" + dataDir}
	if config != "" {
		args = append(args, "--config="+config)
	}
	target := client.Target{DataDir: dataDir, Credential: credentials.View}
	return hosthooks.Launch(dataDir, func() bool { return target.Ask(ctx, "GET", "/api/info", nil, new(struct{})) == nil }, args...)
}

// Connected reports whether connect has put callgate in front of a host.
func (o *Connect) Connected() bool {
	entries, err := os.ReadDir(o.Records())
	return err == nil && len(entries) > 0
}
