package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// copies returns how many NATS servers keep each value.
func (c *Cluster) copies() int {
	if c.o.URL != Embedded {
		return 3
	}
	return min(3, max(1, len(c.o.Peers)))
}

// create creates a stream, with one copy if NATS is a single server.
func (c *Cluster) create(ctx context.Context, config jetstream.StreamConfig) (jetstream.Stream, error) {
	stream, err := c.js.CreateStream(ctx, config)
	if oneServer(c.o.URL, err) {
		c.log.Warn("cluster: NATS is not clustered: there is one copy", "stream", config.Name)
		config.Replicas = 1
		return c.js.CreateStream(ctx, config)
	}
	return stream, err
}

// findStream finds a stream by its name. NATS does not answer while the stream has no leader. So it asks again, and
// waits twice as long each time, until ctx ends.
func findStream(ctx context.Context, js jetstream.JetStream, name string) (stream jetstream.Stream, err error) {
	for within := 250 * time.Millisecond; ; within *= 2 {
		asking, cancel := context.WithTimeout(ctx, within)
		stream, err = js.Stream(asking, name)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
			return stream, err
		}
	}
}

// oneServer reports whether an error means that the NATS at url is a single server, which can keep only one copy.
func oneServer(url string, err error) bool {
	var api *jetstream.APIError
	return url != Embedded && errors.As(err, &api) && api.ErrorCode == 10074
}

// checkSettings returns an error if an existing stream has unsuitable settings: with them it could lose a freeze, or
// return old decisions. do says what people can do.
func checkSettings(info *jetstream.StreamInfo, want jetstream.StreamConfig, do string) error {
	is := info.Config
	var wrong []string
	check := func(name string, is, want any) {
		if is != want {
			wrong = append(wrong, fmt.Sprintf("%s is %v, but must be %v", name, is, want))
		}
	}
	check("retention", is.Retention, want.Retention)
	check("discard", is.Discard, want.Discard)
	check("storage", is.Storage, want.Storage)
	check("max age", is.MaxAge, want.MaxAge)
	check("max messages", max(is.MaxMsgs, -1), want.MaxMsgs)
	check("max bytes", max(is.MaxBytes, -1), want.MaxBytes)
	check("max message size", max(is.MaxMsgSize, -1), want.MaxMsgSize)
	check("max messages per subject", max(is.MaxMsgsPerSubject, 0), max(want.MaxMsgsPerSubject, 0))
	check("deny delete", is.DenyDelete, want.DenyDelete)
	check("deny purge", is.DenyPurge, want.DenyPurge)
	check("allow rollup", is.AllowRollup, want.AllowRollup)
	check("allow message TTL", is.AllowMsgTTL, want.AllowMsgTTL)
	check("allow direct", is.AllowDirect, false)
	check("no acknowledgements", is.NoAck, false)
	check("sealed", is.Sealed, false)
	check("mirror", is.Mirror != nil, false)
	check("sources", len(is.Sources), 0)
	check("subject transform", is.SubjectTransform != nil, false)
	check("subjects", strings.Join(is.Subjects, ","), strings.Join(want.Subjects, ","))
	if info.Cluster != nil && info.Cluster.Name != "" {
		check("replicas", is.Replicas, want.Replicas)
	}
	if wrong == nil {
		return nil
	}
	return fmt.Errorf("the stream %s was made with other settings: %s: change them with nats stream edit, or %s", is.Name, strings.Join(wrong, "; "), do)
}
