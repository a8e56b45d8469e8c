package traces

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"
)

// batcher collects ended spans and exports many at once. It never makes a call wait: if the queue is full, it drops the
// span and counts it.
type batcher struct {
	limits
	export  func(ctx context.Context, spans [][]byte) error
	log     *slog.Logger
	queue   chan []byte
	dropped atomic.Int64
	closing chan struct{}
	closed  chan struct{} // run has returned
	cancel  context.CancelFunc
}

// limits determine when a batch is exported.
type limits struct {
	delay, timeout time.Duration
	queued, most   int // spans
}

// start starts to collect. The caller MUST call close.
func (b *batcher) start() {
	ctx, cancel := context.WithCancel(context.Background())
	b.queue, b.closing, b.closed, b.cancel = make(chan []byte, b.queued), make(chan struct{}), make(chan struct{}), cancel
	go b.run(ctx)
}

// add adds an encoded span. It does not block.
func (b *batcher) add(span []byte) {
	select {
	case b.queue <- span:
	default:
		b.dropped.Add(1)
	}
}

func (b *batcher) run(ctx context.Context) {
	defer close(b.closed)
	timer := time.NewTicker(b.delay)
	defer timer.Stop()
	var batch [][]byte
	send := func() {
		timer.Reset(b.delay)
		b.send(ctx, batch)
		batch = nil
	}
	for {
		select {
		case span := <-b.queue:
			if batch = append(batch, span); len(batch) >= b.most {
				send()
			}
		case <-timer.C:
			send()
		case <-b.closing:
			for len(b.queue) > 0 {
				if batch = append(batch, <-b.queue); len(batch) >= b.most {
					send()
				}
			}
			send()
			return
		}
	}
}

// send exports a batch and logs what could not be exported.
func (b *batcher) send(ctx context.Context, batch [][]byte) {
	if n := b.dropped.Swap(0); n > 0 {
		b.log.Warn("traces: the collector is too slow, so spans were dropped", "spans", n)
	}
	if len(batch) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, b.timeout)
	defer cancel()
	if err := b.export(ctx, batch); err != nil {
		b.log.Warn("traces: not exported", "error", err)
	}
}

// close exports what is left, within wait.
func (b *batcher) close(wait time.Duration) error {
	close(b.closing)
	defer b.cancel()
	select {
	case <-b.closed:
		return nil
	case <-time.After(wait):
		b.cancel()
		<-b.closed
		return fmt.Errorf("the collector has not taken the last spans in %v", wait)
	}
}
