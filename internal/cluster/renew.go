package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"callgate/internal/periodic"
)

// ErrKept means that nothing can be removed from the trail's stream, because an older callgate created it so.
var ErrKept = errors.New("an older callgate made the stream of the audit trail so that it only grows: once every replica has this version, run callgate cluster renew")

// names lists the names that the trail's stream may have. Renewing switches between them.
func (t *trail) names() []string { return []string{t.name, t.name + "-2"} }

func (t *trail) subjects() []string { return []string{"callgate.audit." + t.name + ".>"} }

// current returns the stream that takes records, otherwise one that should.
func (t *trail) current(ctx context.Context) (found jetstream.Stream, err error) {
	for _, name := range t.names() {
		stream, err := t.c.js.Stream(ctx, name)
		switch {
		case errors.Is(err, jetstream.ErrStreamNotFound):
		case err != nil:
			return nil, err
		case slices.Equal(stream.CachedInfo().Config.Subjects, t.subjects()):
			return stream, nil
		case found == nil:
			found = stream
		}
	}
	if found == nil {
		return nil, jetstream.ErrStreamNotFound
	}
	return found, nil
}

// RenewTrail replaces a stream that an older callgate created with one from which records can be removed. The new
// stream copies everything from the old one and takes over its subjects; then the old one is deleted. Meanwhile
// replicas keep their records on their disks. An interrupted renewal continues. It returns the number of messages, and
// whether there was anything to do.
func RenewTrail(ctx context.Context, c *Cluster) (messages uint64, renewed bool, err error) {
	for _, r := range c.Replicas() {
		if r.Lives && r.Version != c.o.Version {
			return 0, false, fmt.Errorf("replica %s runs version %s, which would not find the new stream: upgrade it first", r.Name, r.Version)
		}
	}
	t := c.trailOf("")
	var old, next jetstream.Stream
	to := ""
	for _, name := range t.names() {
		stream, err := c.js.Stream(ctx, name)
		switch {
		case errors.Is(err, jetstream.ErrStreamNotFound):
			to = name
		case err != nil:
			return 0, false, err
		case stream.CachedInfo().Config.DenyPurge:
			old = stream
		default:
			next = stream
		}
	}
	if old == nil {
		return 0, false, nil
	}
	from, config := old.CachedInfo().Config, t.config()
	if next == nil {
		config.Name, config.Subjects, config.DenyDelete = to, nil, false
		config.Sources = []*jetstream.StreamSource{{Name: from.Name}}
		if next, err = c.create(ctx, config); err != nil {
			return 0, false, err
		}
	}
	if !slices.Equal(next.CachedInfo().Config.Subjects, t.subjects()) {
		from.Subjects = []string{"callgate.audit.renewed." + t.name}
		if old, err = c.js.UpdateStream(ctx, from); err != nil {
			return 0, false, err
		}
		if !periodic.Sleep(ctx, writeWithin) { // by then, what was on its way to the old stream has arrived or failed
			return 0, false, ctx.Err()
		}
		if err := t.copied(ctx, old, next); err != nil {
			return 0, false, fmt.Errorf("the new stream does not have all yet, and replicas keep their records meanwhile; run it again: %w", err)
		}
		config = t.config()
		config.Name = next.CachedInfo().Config.Name
		if config.Replicas = next.CachedInfo().Config.Replicas; config.Replicas == 0 {
			config.Replicas = 1
		}
		if next, err = c.js.UpdateStream(ctx, config); err != nil {
			return 0, false, err
		}
	}
	if err := c.js.DeleteStream(ctx, from.Name); err != nil {
		return 0, false, err
	}
	return next.CachedInfo().State.Msgs, true, nil
}

// copied waits until one stream has everything from another that takes no more messages.
func (t *trail) copied(ctx context.Context, from, to jetstream.Stream) error {
	for {
		a, err := from.Info(ctx, jetstream.WithSubjectFilter(">"))
		if err != nil {
			return err
		}
		b, err := to.Info(ctx, jetstream.WithSubjectFilter(">"))
		if err != nil {
			return err
		}
		if a.State.Msgs == b.State.Msgs && maps.Equal(a.State.Subjects, b.State.Subjects) {
			if a.State.Msgs == 0 {
				return nil
			}
			last, err := from.GetMsg(ctx, a.State.LastSeq)
			if err != nil {
				return err
			}
			same, err := to.GetMsg(ctx, b.State.LastSeq)
			if err == nil && (last.Subject != same.Subject || !bytes.Equal(last.Data, same.Data)) {
				err = errors.New("the last messages differ")
			}
			return err
		}
		if !periodic.Sleep(ctx, 100*time.Millisecond) {
			return fmt.Errorf("%d of %d messages: %w", b.State.Msgs, a.State.Msgs, ctx.Err())
		}
	}
}
