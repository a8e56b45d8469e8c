package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"callgate/audit"
)

// The cluster's trail is a stream with the logs of all replicas. A replica writes its log to its disk first. From there
// the lines go to the stream, in order, each once. A message holds the next lines of one log. The stream itself shows
// how much of a log it has, so a restarted replica continues there.
type trail struct {
	c      *Cluster
	name   string
	dir    string
	sealer sealer
	logs   map[string]*exported // by file
	said   bool                 // a warning was logged that records cannot leave the stream
	behind atomic.Int64         // when the oldest line that the stream lacks was written, in ns of Unix time; 0 if it lacks none
}

// exported is how much of one log the stream has.
type exported struct {
	known bool
	rev   uint64 // of the last message
	seq   uint64 // of the last line in that message
	next  int64  // where the next line begins in the log on disk

	cut  uint64 // the last message that was removed from the stream
	held int64  // where in the log on disk the line after that message begins
}

const (
	trailBatch = 256 << 10 // most bytes of lines in a message
	trailEvery = 250 * time.Millisecond
)

func (c *Cluster) trailOf(dir string) *trail {
	name := strings.Replace(c.bucket.name, "callgate_", "callgate_audit_", 1)
	return &trail{c: c, name: name, dir: dir, sealer: c.o.Key.sealer(name), logs: map[string]*exported{}}
}

// ShareTrail copies the logs of a folder to the stream until the cluster closes. It never blocks the writers of the
// logs. It calls trouble with the reason if it cannot go on, and with nil once it can again, always from one goroutine.
// exported returns how far all exports are. While it fails, nothing is removed from the stream.
func (c *Cluster) ShareTrail(dir string, exported func() (Taken, error), trouble func(error)) {
	t := c.trailOf(dir)
	c.trail.Store(t)
	c.owned.Go(func() {
		ticker := time.NewTicker(trailEvery)
		defer ticker.Stop()
		var failing bool
		trimmed := time.Now()
		for {
			select {
			case <-ticker.C:
			case <-c.ctx.Done():
				if c.conn.IsConnected() {
					ctx, cancel := context.WithTimeout(context.Background(), writeWithin)
					_ = t.export(ctx) // the next process sends the rest
					cancel()
				}
				return
			}
			err := t.export(c.ctx)
			if err == nil && (c.o.TrailAge > 0 || c.o.TrailBytes > 0) && time.Since(trimmed) >= trimEvery {
				trimmed = time.Now()
				taken, err := exported()
				if err == nil {
					err = t.trim(c.ctx, taken)
				}
				if err != nil && c.ctx.Err() == nil {
					c.log.Warn("cluster: old records stay in the audit trail's stream", "error", err)
				}
			}
			if c.ctx.Err() != nil || err == nil && !failing {
				continue
			}
			failing = err != nil
			if failing {
				t.behind.CompareAndSwap(0, time.Now().UnixNano())
				for _, one := range t.logs {
					one.known = false
				}
			}
			trouble(err)
		}
	})
}

// TrailBehind returns the age of the oldest record that the cluster lacks.
func (c *Cluster) TrailBehind() time.Duration {
	t := c.trail.Load()
	if t == nil {
		return 0
	}
	if at := t.behind.Load(); at != 0 {
		return max(0, time.Since(time.Unix(0, at)))
	}
	return 0
}

func (t *trail) prefix(replica string) string {
	if replica != "*" {
		replica = keyed(replica)
	}
	return "callgate.audit." + t.name + "." + replica + "."
}

func (t *trail) subject(replica, log string) string {
	return t.prefix(replica) + keyed(strings.TrimSuffix(log, ".jsonl"))
}

// config returns the configuration of the stream.
func (t *trail) config() jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: t.name, Description: "callgate, audit trail of worker " + t.c.o.Worker, Subjects: t.subjects(),
		Storage: jetstream.FileStorage, Replicas: t.c.copies(), DenyDelete: true, MaxMsgs: -1, MaxBytes: -1, MaxMsgSize: -1,
	}
}

// stream returns the stream, and creates it if there is none.
func (t *trail) stream(ctx context.Context) (jetstream.Stream, error) {
	stream, err := t.current(ctx)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return t.c.create(ctx, t.config())
	}
	if err != nil {
		return nil, err
	}
	config := t.config()
	config.DenyPurge = stream.CachedInfo().Config.DenyPurge // if set, no record can be removed
	return stream, checkSettings(stream.CachedInfo(), config, "delete it and let callgate make it")
}

// export copies the new lines of all logs.
func (t *trail) export(ctx context.Context) error {
	if !t.c.conn.IsConnected() {
		return ErrAway
	}
	logs, err := audit.Logs(t.dir)
	if err != nil {
		return err
	}
	for _, log := range logs {
		one := t.logs[log]
		if one == nil {
			one = &exported{}
			t.logs[log] = one
		}
		if err := t.exportLog(ctx, log, one); err != nil {
			return fmt.Errorf("%s: %w", log, err)
		}
	}
	t.behind.Store(0)
	return nil
}

func (t *trail) exportLog(ctx context.Context, log string, one *exported) error {
	subject := t.subject(t.c.o.Name, log)
	if !one.known {
		if err := t.find(ctx, subject, one); err != nil {
			return err
		}
	}
	var batch []byte
	var first, last audit.Line
	send := func() error {
		if len(batch) == 0 {
			return nil
		}
		t.behind.CompareAndSwap(0, first.Time.UnixNano())
		asking, cancel := context.WithTimeout(ctx, writeWithin)
		defer cancel()
		m := nats.NewMsg(subject)
		m.Data = t.sealer.seal(subject, batch)
		ack, err := t.c.js.PublishMsg(asking, m, jetstream.WithMsgID(fmt.Sprintf("%s:%d-%d", subject, first.Seq, last.Seq)), jetstream.WithExpectLastSequencePerSubject(one.rev), jetstream.WithRetryAttempts(0))
		if err != nil {
			return err
		}
		one.rev, one.seq, one.next, batch = ack.Sequence, last.Seq, last.End, nil
		return nil
	}
	for line, err := range audit.Lines(t.dir, log, one.next) {
		if err != nil {
			return err
		}
		if line.Seq <= one.seq {
			one.next = line.End
			continue
		}
		if len(batch)+len(line.Text) > trailBatch {
			if err := send(); err != nil {
				return err
			}
		}
		if len(batch) == 0 {
			first = line
		}
		last, batch = line, append(append(batch, line.Text...), '\n')
	}
	return send()
}

// find learns how much of a log the stream has.
func (t *trail) find(ctx context.Context, subject string, one *exported) error {
	stream, err := t.stream(ctx)
	if err != nil {
		return err
	}
	if stream.CachedInfo().Config.DenyPurge && !t.said {
		t.said = true
		t.c.log.Warn("cluster: nothing leaves the audit trail's stream", "stream", stream.CachedInfo().Config.Name, "error", ErrKept)
	}
	asking, cancel := context.WithTimeout(ctx, writeWithin)
	defer cancel()
	m, err := stream.GetLastMsgForSubject(asking, subject)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		*one = exported{known: true}
		return nil
	}
	if err != nil {
		return err
	}
	last, err := t.last(subject, m.Data)
	if err != nil {
		return err
	}
	*one = exported{known: true, rev: m.Sequence, seq: last.Seq}
	return nil
}

// open returns the lines of a message.
func (t *trail) open(subject string, sealed []byte) ([][]byte, error) {
	body, err := t.sealer.unseal(subject, sealed)
	if err != nil {
		return nil, err
	}
	lines := bytes.Split(bytes.TrimSuffix(body, []byte("\n")), []byte("\n"))
	return lines, nil
}

// last returns the last record of a message.
func (t *trail) last(subject string, sealed []byte) (last audit.Line, err error) {
	lines, err := t.open(subject, sealed)
	if err != nil {
		return last, err
	}
	return audit.ParseLine(lines[len(lines)-1])
}

// TrailLog describes one log as the stream has it.
type TrailLog struct {
	Replica string   `json:"replica"`
	Log     string   `json:"log"`
	Records int      `json:"records"`
	Last    uint64   `json:"last"`             // number of the last record
	Hash    string   `json:"hash"`             // hash of the last record
	Behind  int      `json:"behind,omitempty"` // records that are in the local log but not in the stream
	Here    bool     `json:"here"`             // the log is in the folder too
	Breaks  []string `json:"breaks,omitempty"`
}

// VerifyTrail checks every chain in the stream, and compares this replica's chains with the logs in its folder. The
// caller MUST have verified those logs. Records that only the log has are no break, because they are on their way.
func (c *Cluster) VerifyTrail(ctx context.Context, dir string) ([]TrailLog, error) {
	t := c.trailOf(dir)
	stream, err := t.current(ctx)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil, errors.New("the cluster has no audit trail yet")
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrAway, err)
	}
	found := map[string]*TrailLog{}
	if err := t.walk(ctx, stream, found); err != nil {
		return nil, err
	}
	if err := t.compare(ctx, found); err != nil {
		return nil, err
	}
	list := make([]TrailLog, 0, len(found))
	for _, one := range found {
		list = append(list, *one)
	}
	slices.SortFunc(list, func(a, b TrailLog) int {
		return strings.Compare(a.Replica+"\x00"+a.Log, b.Replica+"\x00"+b.Log)
	})
	return list, nil
}

// walk reads the whole stream.
func (t *trail) walk(ctx context.Context, stream jetstream.Stream, found map[string]*TrailLog) error {
	info, err := stream.Info(ctx)
	if err != nil || info.State.Msgs == 0 {
		return err
	}
	consumer, err := stream.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{DeliverPolicy: jetstream.DeliverAllPolicy, MaxResetAttempts: 1})
	if err != nil {
		return err
	}
	messages, err := consumer.Messages()
	if err != nil {
		return err
	}
	defer messages.Stop()
	for {
		m, err := messages.Next(jetstream.NextContext(ctx))
		if err != nil {
			return err
		}
		meta, err := m.Metadata()
		if err != nil {
			return err
		}
		t.check(m.Subject(), m.Data(), found)
		if meta.Sequence.Stream >= info.State.LastSeq {
			return nil
		}
	}
}

// check checks one message of the stream.
func (t *trail) check(subject string, data []byte, found map[string]*TrailLog) {
	one := found[subject]
	if one == nil {
		parts := strings.Split(subject, ".")
		one = &TrailLog{Replica: unkeyed(parts[len(parts)-2]), Log: unkeyed(parts[len(parts)-1]) + ".jsonl"}
		found[subject] = one
	}
	lines, err := t.open(subject, data)
	if err != nil {
		one.Breaks = append(one.Breaks, fmt.Sprintf("after record %d: a message of the stream: %v", one.Last, err))
		return
	}
	for _, text := range lines {
		line, err := audit.ParseLine(text)
		switch {
		case err != nil:
			one.Breaks = append(one.Breaks, fmt.Sprintf("after record %d: %v", one.Last, err))
			return
		case one.Records > 0 && (line.Prev != one.Hash || line.Seq != one.Last+1):
			one.Breaks = append(one.Breaks, fmt.Sprintf("record %d does not follow record %d", line.Seq, one.Last))
		}
		one.Records, one.Last, one.Hash = one.Records+1, line.Seq, line.Hash
	}
}

// compare compares the logs of the folder with the stream's.
func (t *trail) compare(ctx context.Context, found map[string]*TrailLog) error {
	logs, err := audit.Logs(t.dir)
	if err != nil {
		return err
	}
	upTo, _, err := t.readTrimmed(ctx)
	if err != nil {
		return err
	}
	for _, log := range logs {
		one := found[t.subject(t.c.o.Name, log)]
		if one == nil {
			one = &TrailLog{Replica: t.c.o.Name, Log: log}
			found[t.subject(t.c.o.Name, log)] = one
		}
		t.compareLog(one, upTo[log])
	}
	for _, one := range found {
		if one.Replica == t.c.o.Name && !one.Here {
			one.Breaks = append(one.Breaks, "the log is in the stream, but not in the folder")
		}
	}
	return nil
}

// compareLog compares one log of the folder with the stream's. Records up to taken may have left the stream.
func (t *trail) compareLog(one *TrailLog, taken uint64) {
	one.Here = true
	met := one.Records == 0 // the log has the stream's last record
	first := true
	for line, err := range audit.Lines(t.dir, one.Log, 0) {
		if err != nil {
			one.Breaks = append(one.Breaks, err.Error())
			break
		}
		begins := one.Last - uint64(one.Records) + 1 // first record in the stream
		if one.Records > 0 && (first && begins < line.Seq || line.Seq+1 == begins && line.Seq > taken && !t.old(line)) {
			one.Breaks = append(one.Breaks, fmt.Sprintf("the stream begins with record %d, the log has record %d", begins, line.Seq))
		}
		first = false
		switch {
		case line.Seq == one.Last && one.Records > 0:
			if met = true; line.Hash != one.Hash {
				one.Breaks = append(one.Breaks, fmt.Sprintf("record %d in the log differs from the one in the stream", line.Seq))
			}
		case line.Seq > one.Last:
			one.Behind++
		}
	}
	if !met {
		one.Breaks = append(one.Breaks, fmt.Sprintf("the log ends before record %d, which the stream has", one.Last))
	}
}
