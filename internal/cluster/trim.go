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

// The trail's stream keeps records for Options.TrailAge, and up to Options.TrailBytes. Each replica removes what is too
// old or too much from its own logs in the stream. It only removes records that are in the log on its disk and that
// every export has. So the records of a replica that is gone, or lost its disk, stay.

// DefaultTrailAge is how long the stream keeps records by default.
const DefaultTrailAge = 90 * 24 * time.Hour

// MinTrailBytes is the least sensible value for Options.TrailBytes, because a few messages of each log always stay.
const MinTrailBytes = 16 << 20

const (
	trimEvery  = 10 * time.Minute
	trimWithin = 20 * time.Second // for one look at all logs
)

// Taken returns up to which byte of a log all exports have it. Only that part may leave the stream.
type Taken func(log string) int64

// old reports whether a record may have left the stream because of its age.
func (t *trail) old(record audit.Line) bool {
	return t.c.o.TrailAge > 0 && record.Time.Before(t.c.o.now().Add(-t.c.o.TrailAge))
}

// trim removes what is too old, and then what is too much.
func (t *trail) trim(ctx context.Context, taken Taken) error {
	ctx, cancel := context.WithTimeout(ctx, trimWithin)
	defer cancel()
	stream, err := t.stream(ctx)
	if err != nil || stream.CachedInfo().Config.DenyPurge { // until the stream is renewed
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

// trimExcess removes the oldest records if the stream is too large: this replica's share, by its number of messages. So
// replicas that do this at once do not remove too much. What others cannot remove is shared out again next time.
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

// trimLogs removes messages from the beginning of each log while goes returns true for the last record and the size of
// the next message.
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

// trimLog removes messages of one log. The last message stays, because it shows how much of the log the stream has.
func (t *trail) trimLog(ctx context.Context, stream jetstream.Stream, log string, one *exported, taken int64, goes func(last audit.Line, size int) bool) error {
	subject := t.subject(t.c.o.Name, log)
	before, young := one.cut, uint64(0) // the last record removed that is not old
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

// trimmedDocument returns the document that says, for each of this replica's logs, up to which record the stream may
// lack records that are not old. Without it, verify would take the gap for an attack.
func (t *trail) trimmedDocument() Document { return t.c.Document("trail." + keyed(t.c.o.Name)) }

// readTrimmed reads trimmedDocument.
func (t *trail) readTrimmed(ctx context.Context) (upTo map[string]uint64, revision uint64, err error) {
	version, err := t.trimmedDocument().Read(ctx)
	if err == nil && version.Text != nil {
		err = json.Unmarshal(version.Text, &upTo)
	}
	return upTo, version.Revision, err
}

// noteTaken adds a log to the document early.
func (t *trail) noteTaken(ctx context.Context, log string, seq uint64) error {
	upTo, revision, err := t.readTrimmed(ctx)
	if err != nil {
		return err
	}
	if upTo == nil {
		upTo = map[string]uint64{}
	}
	upTo[log] = max(upTo[log], seq)
	text, err := json.Marshal(upTo)
	if err == nil {
		_, err = t.trimmedDocument().Replace(ctx, revision, text, t.c.o.Name)
	}
	return err
}

// holds returns where in the log on disk the line after a record begins. It fails if the log does not have exactly that
// record.
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
