package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"callgate/audit"
)

// The stream of the trail keeps a record for Options.TrailAge. What is older each replica takes out of its own logs'
// part, as far as the very record stands in the log on its disk, and every export has it. So what is left of a replica
// that is gone, or lost its disk, stays.

// DefaultTrailAge is how long the stream keeps records unless it is said otherwise.
const DefaultTrailAge = 90 * 24 * time.Hour

const (
	trimEvery  = 10 * time.Minute
	trimWithin = 20 * time.Second // for one look at all logs
)

// Taken says how far a log may go from the stream: to which byte all exports have it.
type Taken func(log string) int64

// old reports whether a record may be gone from the stream.
func (t *trail) old(record audit.Line) bool {
	return t.c.o.TrailAge > 0 && record.Time.Before(t.c.o.now().Add(-t.c.o.TrailAge))
}

// trim takes out what is too old.
func (t *trail) trim(ctx context.Context, taken Taken) error {
	ctx, cancel := context.WithTimeout(ctx, trimWithin)
	defer cancel()
	stream, err := t.stream(ctx)
	if err != nil || stream.CachedInfo().Config.DenyPurge { // an older callgate made it, and NATS never gives that up
		return err
	}
	logs, err := audit.Logs(t.dir)
	if err != nil {
		return err
	}
	for _, log := range logs {
		one := t.logs[log]
		if one == nil || !one.known {
			continue
		}
		if err := t.trimLog(ctx, stream, log, one, taken(log)); err != nil {
			one.cut, one.held = 0, 0
			return fmt.Errorf("%s: %w", log, err)
		}
	}
	return nil
}

// trimLog takes out what is too old of one log. The last message stays: it says how far the stream has the log.
func (t *trail) trimLog(ctx context.Context, stream jetstream.Stream, log string, one *exported, taken int64) error {
	subject := t.subject(t.c.o.Name, log)
	before := one.cut
	for {
		m, err := stream.GetMsg(ctx, one.cut+1, jetstream.WithGetMsgSubject(subject))
		if errors.Is(err, jetstream.ErrMsgNotFound) || err == nil && m.Sequence >= one.rev {
			break
		}
		if err != nil {
			return err
		}
		last, err := t.last(subject, m.Data)
		if err != nil {
			return err
		}
		if !t.old(last) {
			break
		}
		end, err := t.holds(log, one.held, last)
		if err != nil {
			return err
		}
		if end > taken {
			break
		}
		one.cut, one.held = m.Sequence, end
	}
	if one.cut == before {
		return nil
	}
	return stream.Purge(ctx, jetstream.WithPurgeSubject(subject), jetstream.WithPurgeSequence(one.cut+1))
}

// holds says where in the log on the disk the line after a record begins. It fails if the record is not there, or is
// another.
func (t *trail) holds(log string, from int64, record audit.Line) (end int64, err error) {
	for line, err := range audit.Lines(t.dir, log, from) {
		switch {
		case err != nil:
			return 0, err
		case line.Seq == record.Seq && line.Hash == record.Hash:
			return line.End, nil
		case line.Seq >= record.Seq:
			return 0, fmt.Errorf("record %d in the log is not the one in the stream", record.Seq)
		}
	}
	return 0, fmt.Errorf("record %d is in the stream alone", record.Seq)
}
