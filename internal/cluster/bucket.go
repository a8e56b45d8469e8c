package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"callgate/internal/periodic"
)

// bucket is the key-value bucket of one worker as this replica has seen it. A stream keeps the order of all its
// changes, so a replica that sees its own beat has seen every change before it.
type bucket struct {
	c       *Cluster
	name    string
	sealer  sealer
	memory  *memory
	began   time.Time
	trouble atomic.Pointer[error] // why the bucket cannot be followed
	unfit   atomic.Pointer[error] // why an onlooker MUST NOT change it; nil, or a nil error, if it may
	silent  atomic.Bool           // the answer to a write was lost: no other write may begin until a beat comes back

	until atomic.Int64 // Fresh holds until then, in ns since began; 0 until the first beat comes back
	wall  atomic.Int64 // and until then in ns of Unix time, because the clock of until stops while the machine sleeps

	taking  sync.Mutex // held while a change is taken in
	telling sync.Mutex // held while watchers hear of a change

	named atomic.Pointer[error] // errNamed if another replica has this one's name; otherwise nil
	ahead atomic.Pointer[error] // ErrNewer while a newer callgate's value is in the bucket; otherwise nil

	mu       sync.Mutex
	newer    map[string]error // errors of such values, by key
	stream   jetstream.Stream // nil until the bucket is bound
	seen     map[string]value
	versions map[string]Version // of documents, as they were last read
	sent     map[string]sending // own beats on their way, by their Chance
	watchers []watcher

	whole    sync.Once
	complete chan struct{} // closed once everything that existed at the start was heard
}

// value is the value of a key.
type value struct {
	body  []byte // nil if there is none
	rev   uint64 // of the last change
	after uint64 // the change that it was written to follow, as NATS was told
	old   bool   // an older secret of the key sealed it
	err   error  // why a document cannot be used; nil if body is valid
}

// sending is when a beat was sent: by the monotonic clock, and by the wall clock, which runs while the machine sleeps.
type sending struct{ at, wall time.Time }

// watcher is called for every change of keys with a prefix, in order, one at a time. It MUST NOT wait for the cluster.
type watcher struct {
	prefix string
	hear   func(key string, v value)
}

const (
	writeWithin = 2 * time.Second // for the cluster to answer
	tombstone   = time.Minute     // how long the end of a key is announced
)

var (
	errConflict = errors.New("somebody else changed it first")
	errNone     = errors.New("there is no such key")
	errUnsaved  = errors.New("this replica's record of the cluster cannot be saved")
	errTaken    = fmt.Errorf("%w: it is gone, but no replica removed it: restore it with callgate cluster restore --replace", ErrLost)
	errOlder    = fmt.Errorf("%w: it was rolled back to an older value: restore it with callgate cluster restore --replace", ErrLost)
)

// bucketNames escapes a worker's name so that each worker has a different bucket. Names of buckets have no dots.
var bucketNames = strings.NewReplacer("-", "--", ".", "-d")

func newBucket(c *Cluster) (*bucket, error) {
	name := "callgate_" + bucketNames.Replace(c.o.Worker)
	memory, err := openMemory(c.o.DataDir, name)
	if err != nil {
		return nil, err
	}
	return &bucket{c: c, name: name, sealer: c.o.Key.sealer(name), memory: memory, began: time.Now(), seen: memory.before(), versions: map[string]Version{}, newer: map[string]error{}, sent: map[string]sending{}, complete: make(chan struct{})}, nil
}

// watch adds a watcher. It MUST be called before run.
func (b *bucket) watch(prefix string, hear func(key string, v value)) {
	b.watchers = append(b.watchers, watcher{prefix, hear})
}

func (b *bucket) fresh() error {
	if named := b.named.Load(); named != nil {
		return *named
	}
	if ahead := b.ahead.Load(); ahead != nil {
		return *ahead
	}
	return b.followError()
}

// followError returns nil while the replica follows the bucket, whatever the bucket holds.
func (b *bucket) followError() error {
	until, now := b.until.Load(), int64(time.Since(b.began))
	switch {
	case until == 0 && b.trouble.Load() != nil:
		return fmt.Errorf("%w yet: %w", ErrAway, *b.trouble.Load())
	case until == 0:
		return fmt.Errorf("%w yet: this replica has not heard which rules apply", ErrAway)
	case now > until || b.c.o.now().UnixNano() > b.wall.Load():
		if trouble := b.trouble.Load(); trouble != nil && errors.Is(*trouble, ErrLost) {
			return *trouble
		}
		return fmt.Errorf("%w: this replica has not heard which rules apply for longer than its lease of %s", ErrAway, b.c.o.Lease)
	}
	return nil
}

// run follows the bucket until the cluster closes.
func (b *bucket) run() {
	said := ""
	for b.c.ctx.Err() == nil {
		err := b.follow()
		if b.c.ctx.Err() != nil {
			return
		}
		b.trouble.Store(&err)
		if text := fmt.Sprint(err); text != said {
			b.c.log.Warn("cluster: cannot follow the bucket; trying again", "bucket", b.name, "error", err)
			said = text
		}
		periodic.Sleep(b.c.ctx, 250*time.Millisecond)
	}
}

// config returns the settings of the bucket's stream. Reads go to its leader: a lagging replica shows old decisions.
func (b *bucket) config(copies int) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: "KV_" + b.name, Description: "callgate, worker " + b.c.o.Worker, Subjects: []string{b.subject(">")},
		MaxMsgsPerSubject: 1, Discard: jetstream.DiscardNew, AllowRollup: true, DenyDelete: true, Storage: jetstream.FileStorage, Replicas: copies,
		MaxMsgs: -1, MaxBytes: -1, MaxMsgSize: -1, MaxConsumers: -1, AllowMsgTTL: true, SubjectDeleteMarkerTTL: tombstone,
	}
}

func (b *bucket) subject(key string) string { return "$KV." + b.name + "." + key }

// bind finds or creates the bucket. An existing bucket must hold all that this replica has seen, and its settings must
// keep what is written.
func (b *bucket) bind(ctx context.Context) (jetstream.Stream, error) {
	stream, err := findStream(ctx, b.c.js, "KV_"+b.name)
	last := b.memory.last()
	switch {
	case err == nil:
		info := stream.CachedInfo()
		if info.State.LastSeq < last && !b.c.o.Recreate {
			return nil, b.memory.dataLost(fmt.Sprintf("the bucket ends at change %d, and this replica has seen change %d", info.State.LastSeq, last))
		}
		err := checkSettings(info, b.config(b.c.copies()), "run callgate cluster backup, and restore --replace, which makes it anew")
		switch {
		case info.State.LastSeq < last, err != nil && b.c.o.Recreate:
		case b.c.o.onlooker: // it may still read
			b.unfit.Store(&err)
			return stream, nil
		default:
			return stream, err
		}
		last = max(last, info.State.LastSeq)
		if err := b.c.js.DeleteStream(ctx, "KV_"+b.name); err != nil {
			return nil, err
		}
	case !errors.Is(err, jetstream.ErrStreamNotFound):
		return nil, err
	case last > 0 && !b.c.o.Recreate:
		return nil, b.memory.dataLost("the bucket is gone")
	case b.c.o.onlooker && !b.c.o.Recreate:
		return nil, fmt.Errorf("no replica of worker %s has ever run in this cluster: start one, or use callgate cluster restore --replace", b.c.o.Worker)
	}
	config := b.config(b.c.copies())
	if last > 0 {
		config.FirstSeq = last + beyond
	}
	return b.c.create(ctx, config)
}

// follow binds the bucket and takes in its changes until it stalls.
func (b *bucket) follow() error {
	ctx, stop := context.WithCancel(b.c.ctx)
	defer stop()
	binding, bound := context.WithTimeout(ctx, 10*time.Second)
	defer bound()
	stream, err := b.bind(binding)
	if err != nil {
		return err
	}
	consumer, err := b.c.js.OrderedConsumer(binding, "KV_"+b.name, jetstream.OrderedConsumerConfig{DeliverPolicy: jetstream.DeliverLastPerSubjectPolicy, MaxResetAttempts: 1})
	if err != nil {
		return err
	}
	messages, err := consumer.Messages(jetstream.PullHeartbeat(max(b.c.o.Lease/4, 500*time.Millisecond)), jetstream.PullExpiry(max(b.c.o.Lease, time.Second)))
	if err != nil {
		return err
	}
	defer messages.Stop()
	b.mu.Lock()
	b.stream = stream
	b.mu.Unlock()
	b.trouble.Store(nil)
	if !b.c.o.onlooker {
		b.owned(ctx, stop)
	}
	first, told := true, map[string]bool{}
	var noted time.Time
	for {
		// Next recreates a lost consumer where it left off. A concurrent Stop would be lost with it.
		m, err := messages.Next(jetstream.NextContext(ctx))
		if ctx.Err() != nil {
			return errors.New("no heartbeat came back")
		}
		if err != nil {
			return err
		}
		meta, err := m.Metadata()
		if err != nil {
			return err
		}
		key := strings.TrimPrefix(m.Subject(), b.subject(""))
		told[key] = true
		b.take(key, m.Headers(), m.Data(), meta.Sequence.Stream)
		if first && meta.NumPending == 0 { // keys that existed before and no longer do ended unheard
			first = b.forget(told, meta.Sequence.Stream)
			b.whole.Do(func() { close(b.complete) })
		}
		if !first && !b.c.o.onlooker && time.Since(noted) > b.c.o.Lease {
			noted = time.Now()
			if err := b.memory.saw("", meta.Sequence.Stream, nil); err != nil {
				b.c.log.Warn("cluster: cannot save how far this replica has seen the bucket", "error", err)
			}
		}
	}
}

// owned sends the replica's beats while it follows the bucket, and calls stop if they do not come back.
func (b *bucket) owned(ctx context.Context, stop func()) {
	began := time.Now()
	b.c.owned.Go(func() {
		defer stop()
		ticker := time.NewTicker(b.c.o.beat())
		defer ticker.Stop()
		looked := time.Now()
		for ctx.Err() == nil {
			b.c.replicas.send()
			if time.Since(looked) > b.c.o.Lease {
				looked = time.Now()
				b.look(ctx)
			}
			select {
			case <-ticker.C:
			case <-b.c.replicas.ruled:
			case <-ctx.Done():
				return
			}
			if b.followError() != nil && time.Since(began) > 2*b.c.o.Lease && b.c.conn.IsConnected() {
				return // the consumer is lost
			}
		}
	})
}

// look asks for the documents that this replica has seen, because a purge is not announced. A document that was unknown
// may be usable again: saving what was seen of it may have failed on a full disk, or NATS may have lost it for a while
// when its leader's storage failed.
func (b *bucket) look(ctx context.Context) {
	for key, known := range b.valuesUnder("") {
		if !isDocument(key) {
			continue
		}
		m, err := b.get(ctx, key)
		switch {
		case errors.Is(err, errNone) && b.memory.revision(key) > 0:
			b.noteMissing(key)
		case err == nil && (errors.Is(known.err, errUnsaved) || errors.Is(known.err, errTaken)):
			b.take(key, m.Header, m.Data, m.Sequence)
		}
	}
}

// noteMissing notes that a document is missing, but no replica removed it. It keeps the revision: the document may come
// back.
func (b *bucket) noteMissing(key string) {
	known := b.last(key)
	if known.err == nil || errors.Is(known.err, errUnsaved) {
		b.c.log.Error("cluster: a value is ignored", "key", key, "error", errTaken)
		b.note(key, value{rev: known.rev, after: known.after, err: errTaken})
	}
}

// take takes in a change and tells the watchers. A document counts as unknown if it was removed, does not open, or is
// older than one already seen. Replicas never do that, but other users of NATS might.
func (b *bucket) take(key string, h nats.Header, sealed []byte, rev uint64) {
	b.taking.Lock()
	defer b.taking.Unlock()
	v := value{}
	if !isEnd(h) {
		v = b.unseal(key, h, sealed)
	}
	v.rev = rev
	if isDocument(key) {
		known := b.last(key)
		switch {
		case rev < known.rev:
			return // a later write of this replica overtook it
		case v.err == nil && v.body == nil:
			v.err = errTaken
		case v.err != nil || b.memory.isLastSeen(key, rev, sealed):
		case v.after < b.memory.revision(key) || rev > known.rev && v.after < known.rev || rev == known.rev && v.after < known.after:
			v.body, v.err = nil, errOlder
		case !b.c.o.onlooker:
			if err := b.memory.saw(key, rev, sealed); err != nil {
				v.body, v.err = nil, fmt.Errorf("%w: %w", errUnsaved, err)
			}
		}
	}
	if v.err != nil {
		b.c.log.Error("cluster: a value is ignored", "key", key, "error", v.err)
		if !isDocument(key) && !errors.Is(v.err, ErrNewer) {
			return
		}
	}
	b.note(key, v)
}

// isDocument reports whether a key's value does not expire.
func isDocument(key string) bool {
	return !isFleeting(key) && !strings.HasPrefix(key, "ask.")
}

// isFleeting reports whether a key's value ends with its writer or is written again.
func isFleeting(key string) bool {
	return strings.HasPrefix(key, "beat.") || strings.HasPrefix(key, "budget.") || strings.HasPrefix(key, "lock.")
}

// isEnd reports whether a message says that its key no longer has a value.
func isEnd(h nats.Header) bool {
	return h.Get("KV-Operation") != "" || h.Get("Nats-Marker-Reason") != ""
}

// place returns what a value is sealed for, its key and the change that it follows. So nobody can put back old values.
func place(key string, after uint64) string { return key + "\x00" + strconv.FormatUint(after, 10) }

// unseal opens a value. The error is in the value.
func (b *bucket) unseal(key string, h nats.Header, sealed []byte) (v value) {
	said := h.Values(jetstream.ExpectedLastSubjSeqHeader)
	if len(said) != 1 || len(h.Values(jetstream.ExpectedLastSubjSeqSubjHeader)) > 0 {
		return value{err: errSealed}
	}
	after, err := strconv.ParseUint(said[0], 10, 64)
	if err != nil {
		return value{err: errSealed}
	}
	format, err := formatOf(h)
	if err != nil {
		return value{err: errSealed}
	}
	v.after = after
	v.body, v.old, v.err = b.sealer.unsealBy(place(key, after)+format.seals(), sealed)
	if v.err == nil && format > newest { // somebody with the cluster's key wrote it
		v.body, v.err = nil, fmt.Errorf("%s: %w: its format is %d, and this callgate knows %d", key, ErrNewer, format, newest)
	}
	return v
}

func (b *bucket) note(key string, v value) {
	b.telling.Lock()
	defer b.telling.Unlock()
	b.mu.Lock()
	known := b.seen[key]
	again := errors.Is(known.err, errUnsaved) || errors.Is(known.err, errTaken) != errors.Is(v.err, errTaken) // the error has changed, so this change is not yet known
	if known.rev > v.rev || known.rev == v.rev && !again {
		b.mu.Unlock()
		return
	}
	if v.body == nil && v.err == nil {
		delete(b.seen, key)
	} else {
		b.seen[key] = v
	}
	b.noteNewer(key, v.err)
	watchers := b.watchers[:len(b.watchers):len(b.watchers)]
	b.mu.Unlock()
	for _, w := range watchers {
		if strings.HasPrefix(key, w.prefix) {
			w.hear(key, v)
		}
	}
}

// forget drops the keys that a fresh reading of the bucket up to a change did not show. It returns true if that copy of
// the bucket lags behind what this replica has seen: later keys may still come.
func (b *bucket) forget(told map[string]bool, at uint64) (lags bool) {
	var gone []string
	b.mu.Lock()
	for key, v := range b.seen {
		switch {
		case told[key]:
		case v.rev > at:
			lags = true
		default:
			gone = append(gone, key)
		}
	}
	b.mu.Unlock()
	for _, key := range gone {
		if isDocument(key) {
			b.noteMissing(key)
		} else {
			b.note(key, value{rev: b.last(key).rev + 1})
		}
	}
	return lags
}

// last returns the value of a key as this replica has seen it.
func (b *bucket) last(key string) value {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.seen[key]
}

// valuesUnder returns the values of all keys with a prefix, as this replica has seen them.
func (b *bucket) valuesUnder(prefix string) map[string]value {
	b.mu.Lock()
	defer b.mu.Unlock()
	found := map[string]value{}
	for key, v := range b.seen {
		if strings.HasPrefix(key, prefix) {
			found[key] = v
		}
	}
	return found
}

// read asks the leader for the last value of a key, which may end with ".*". The error is errNone if there is none.
func (b *bucket) read(ctx context.Context, key string) (found string, v value, err error) {
	m, err := b.get(ctx, key)
	if err != nil {
		return "", v, err
	}
	found = strings.TrimPrefix(m.Subject, b.subject(""))
	if isEnd(m.Header) {
		return found, value{rev: m.Sequence}, errNone
	}
	v = b.unseal(found, m.Header, m.Data)
	v.rev = m.Sequence
	return found, v, v.err
}

// get does what read does, but returns the stored message.
func (b *bucket) get(ctx context.Context, key string) (*jetstream.RawStreamMsg, error) {
	stream, err := b.connectedStream()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, writeWithin)
	defer cancel()
	m, err := stream.GetLastMsgForSubject(ctx, b.subject(key))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil, errNone
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrAway, err)
	}
	return m, nil
}

// connectedStream returns the stream, or an error if the cluster is away, so that no request waits for long.
func (b *bucket) connectedStream() (jetstream.Stream, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.stream == nil && b.trouble.Load() != nil:
		return nil, fmt.Errorf("%w: %w", ErrAway, *b.trouble.Load())
	case b.stream == nil || !b.c.conn.IsConnected():
		return nil, ErrAway
	}
	return b.stream, nil
}

// write writes the value of a key whose last change is expect; 0 means a key that does not exist. The error is
// errConflict if the last change is another one, and ErrAway if the outcome is unknown. A value with live > 0 expires
// by itself. No two values are the same, unless one is sealed again, so write can recognise its own value.
func (b *bucket) write(ctx context.Context, key string, body []byte, expect uint64, live time.Duration) (rev uint64, err error) {
	beats := strings.HasPrefix(key, "beat.")
	if _, err := b.connectedStream(); err != nil {
		return 0, err
	}
	if err := b.last(key).err; errors.Is(err, ErrNewer) {
		return 0, err
	}
	if unfit := b.unfit.Load(); unfit != nil && *unfit != nil {
		return 0, *unfit
	}
	if b.silent.Load() && !beats {
		return 0, fmt.Errorf("%w: it did not confirm the last write", ErrAway)
	}
	m := nats.NewMsg(b.subject(key))
	m.Data = b.sealer.seal(place(key, expect), body)
	options := []jetstream.PublishOpt{jetstream.WithExpectLastSequencePerSubject(expect), jetstream.WithRetryAttempts(0)}
	if live > 0 {
		options = append(options, jetstream.WithMsgTTL(live))
	}
	asking, cancel := context.WithTimeout(ctx, writeWithin)
	defer cancel()
	ack, err := b.c.js.PublishMsg(asking, m, options...)
	if err == nil {
		b.silent.Store(false)
		return ack.Sequence, nil
	}
	var api *jetstream.APIError
	conflict := errors.As(err, &api) && (api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence || api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant)
	_, now, reading := b.read(ctx, key)
	switch {
	case reading == nil && now.rev != expect && bytes.Equal(now.body, body):
		return now.rev, nil // only the answer was lost
	case conflict, reading == nil && now.after == expect && now.rev > expect: // the stored value came instead of this one, not after it
		return 0, errConflict
	}
	b.silent.Store(!beats && reading != nil && !b.c.o.onlooker)
	return 0, fmt.Errorf("%w: %w", ErrAway, err)
}

// drop removes a key, whatever its value.
func (b *bucket) drop(ctx context.Context, key string) error {
	if _, err := b.connectedStream(); err != nil {
		return err
	}
	if err := b.last(key).err; errors.Is(err, ErrNewer) {
		return err
	}
	m := nats.NewMsg(b.subject(key))
	m.Header.Set("KV-Operation", "PURGE")
	m.Header.Set("Nats-Rollup", "sub")
	ctx, cancel := context.WithTimeout(ctx, writeWithin)
	defer cancel()
	_, err := b.c.js.PublishMsg(ctx, m, jetstream.WithMsgTTL(tombstone), jetstream.WithRetryAttempts(0))
	return err
}
