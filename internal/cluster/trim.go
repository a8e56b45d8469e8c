package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"callgate/audit"
)

// The stream of the trail keeps a record for Options.TrailAge, and no more than Options.TrailBytes. What is older or too
// much each replica takes out of its own logs' part, as far as the very record stands in the log on its disk, and every
// export has it. So what is left of a replica that is gone, or lost its disk, stays.

// DefaultTrailAge is how long the stream keeps records unless it is said otherwise.
const DefaultTrailAge = 90 * 24 * time.Hour

// MinTrailBytes is the least that makes sense as Options.TrailBytes: a few messages of each log stay in any case.
const MinTrailBytes = 16 << 20

const (
	trimEvery  = 10 * time.Minute
	trimWithin = 20 * time.Second // for one look at all logs
)

// Taken says how far a log may go from the stream: to which byte all exports have it.
type Taken func(log string) int64

// old reports whether a record may be gone from the stream because of its age.
func (t *trail) old(record audit.Line) bool {
	return t.c.o.TrailAge > 0 && record.Time.Before(t.c.o.now().Add(-t.c.o.TrailAge))
}

// trim takes out what is too old, and then what is too much.
func (t *trail) trim(ctx context.Context, taken Taken) error {
	ctx, cancel := context.WithTimeout(ctx, trimWithin)
	defer cancel()
	stream, err := t.stream(ctx)
	if err != nil || stream.CachedInfo().Config.DenyPurge { // until it is renewed
		return err
	}
	logs, err := audit.Logs(t.dir)
	if err != nil {
		return err
	}
	if err := t.trimLogs(ctx, stream, logs, taken, func(last audit.Line, _ int) bool { return t.old(last) }); err != nil || t.c.o.TrailBytes <= 0 {
		return err
	}
	return t.trimExcess(ctx, stream, logs, taken)
}

// trimExcess takes out of the oldest what the stream has too much. It is this replica's share by its messages, so
// replicas that do so at once do not take out more than that; what others cannot take out is shared again next time.
func (t *trail) trimExcess(ctx context.Context, stream jetstream.Stream, logs []string, taken Taken) error {
	own := t.prefix(t.c.o.Name) + ">"
	info, err := stream.Info(ctx, jetstream.WithSubjectFilter(own))
	if err != nil || info.State.Msgs == 0 || info.State.Bytes <= uint64(t.c.o.TrailBytes) {
		return err
	}
	var messages uint64
	for _, n := range info.State.Subjects {
		messages += n
	}
	share := float64(info.State.Bytes-uint64(t.c.o.TrailBytes)) * float64(messages) / float64(info.State.Msgs)
	return t.trimLogs(ctx, stream, logs, taken, func(_ audit.Line, size int) bool {
		wanted := share > 0
		share -= float64(size)
		return wanted
	})
}

// trimLogs takes out messages from the beginning of each log for as long as goes is true for the last record and the
// size of the next one.
func (t *trail) trimLogs(ctx context.Context, stream jetstream.Stream, logs []string, taken Taken, goes func(last audit.Line, size int) bool) error {
	for _, log := range logs {
		one := t.logs[log]
		if one == nil || !one.known {
			continue
		}
		if err := t.trimLog(ctx, stream, log, one, taken(log), goes); err != nil {
			one.cut, one.held = 0, 0
			return fmt.Errorf("%s: %w", log, err)
		}
	}
	return nil
}

// trimLog does so with one log. The last message stays: it says how far the stream has the log.
func (t *trail) trimLog(ctx context.Context, stream jetstream.Stream, log string, one *exported, taken int64, goes func(last audit.Line, size int) bool) error {
	subject := t.subject(t.c.o.Name, log)
	before, young := one.cut, uint64(0) // the last record that goes though it is not old
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
		if !goes(last, len(m.Subject)+len(m.Data)) {
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
		if !t.old(last) {
			young = last.Seq
		}
	}
	if one.cut == before {
		return nil
	}
	if young > 0 {
		if err := t.noteTaken(ctx, log, young); err != nil {
			return err
		}
	}
	return stream.Purge(ctx, jetstream.WithPurgeSubject(subject), jetstream.WithPurgeSequence(one.cut+1))
}

// early is the document that says up to which record of each of this replica's logs the stream need not have what is
// not old: without it, verify takes that for an attack.
func (t *trail) early() Document { return t.c.Document("trail." + keyed(t.c.o.Name)) }

// takenEarly reads it.
func (t *trail) takenEarly(ctx context.Context) (upTo map[string]uint64, revision uint64, err error) {
	version, err := t.early().Read(ctx)
	if err == nil && version.Text != nil {
		err = json.Unmarshal(version.Text, &upTo)
	}
	return upTo, version.Revision, err
}

// noteTaken adds a log to it.
func (t *trail) noteTaken(ctx context.Context, log string, seq uint64) error {
	upTo, revision, err := t.takenEarly(ctx)
	if err != nil {
		return err
	}
	if upTo == nil {
		upTo = map[string]uint64{}
	}
	upTo[log] = max(upTo[log], seq)
	text, err := json.Marshal(upTo)
	if err == nil {
		_, err = t.early().Replace(ctx, revision, text, t.c.o.Name)
	}
	return err
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
