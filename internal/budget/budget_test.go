package budget

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"
)

// settle waits until the budget counts at most that many bytes.
func settle(t *testing.T, b *Budget, most int64) {
	t.Helper()
	for range 1000 {
		runtime.GC()
		if b.Used() <= most {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatalf("%d bytes count, want at most %d", b.Used(), most)
}

func TestSmallIsFree(t *testing.T) {
	b := New(MinLimit)
	for range 1000 {
		x := Buffer{Budget: b}
		if _, err := x.Write(make([]byte, Free)); err != nil {
			t.Fatal(err)
		}
	}
	if b.Used() != 0 {
		t.Errorf("%d bytes count", b.Used())
	}
	if allocs := testing.AllocsPerRun(100, func() { x := Buffer{Budget: b}; _, _ = x.Write([]byte("small")); x.Bytes() }); allocs > 1 {
		t.Errorf("a small message costs %v allocations", allocs)
	}
}

func TestMemoryCountsUntilNobodyUsesIt(t *testing.T) {
	b := New(MinLimit)
	x := Buffer{Budget: b}
	if _, err := x.Write(make([]byte, 1<<20)); err != nil {
		t.Fatal(err)
	}
	if b.Used() != 2<<20 {
		t.Errorf("%d bytes count", b.Used())
	}
	part := x.Bytes()[10:20]
	x = Buffer{}
	runtime.GC()
	if b.Used() != 2<<20 {
		t.Errorf("%d bytes count while a part is used", b.Used())
	}
	runtime.KeepAlive(part)
	settle(t, b, 0)
}

// TestWaiting checks that waiting messages proceed when there is room, and that hopeless ones fail at once.
func TestWaiting(t *testing.T) {
	b := New(MinLimit)
	held, _, err := Alloc(b, nil, 1<<20, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	var full *Error
	if _, _, err := Alloc(b, nil, MinLimit, 0, nil); !errors.As(err, &full) || !full.Never || !strings.Contains(err.Error(), Key) {
		t.Errorf("too large: %v", err)
	}
	gaveUp := make(chan struct{})
	close(gaveUp)
	if _, _, err := Alloc(b, gaveUp, 1<<20, 0, nil); !errors.As(err, &full) || full.Never || !strings.Contains(err.Error(), Key) {
		t.Errorf("given up: %v", err)
	}
	got := make(chan error)
	go func() {
		next, _, err := Alloc(b, nil, 1<<20, 0, nil)
		runtime.KeepAlive(next)
		got <- err
	}()
	time.Sleep(2 * collecting)
	select {
	case err := <-got:
		t.Fatalf("it did not wait: %v", err)
	default:
	}
	runtime.KeepAlive(held) // and no longer
	if err := <-got; err != nil {
		t.Error(err)
	}
	settle(t, b, 0)
}

// TestPartsShare checks that a part at its limit takes no room from another, which proceeds at once.
func TestPartsShare(t *testing.T) {
	b := New(64 << 20)
	greedy, modest := b.Part(64<<20), b.Part(64<<20)
	var held [][]byte
	take := func(from *Budget, size int) error {
		gaveUp := make(chan struct{})
		time.AfterFunc(4*collecting, func() { close(gaveUp) })
		got, c, err := Alloc(from, gaveUp, size, size, nil)
		if err == nil {
			Grown(from, c)
			held = append(held, got)
		}
		return err
	}
	n := 0
	for ; take(greedy, 1<<20) == nil; n++ {
	}
	if n != 21 { // three quarters of seven eighths, each counted twice
		t.Errorf("alone it holds %d messages", n)
	}
	var waiting sync.WaitGroup
	for range 20 {
		waiting.Go(func() { _, _, _ = Alloc(greedy, t.Context().Done(), 1<<20, 1<<20, nil) })
	}
	time.Sleep(2 * collecting)
	for i := range 5 {
		if err := take(modest, 1<<20); err != nil {
			t.Errorf("message %d of the other: %v", i, err)
		}
	}
	runtime.KeepAlive(held)
	held = nil
	waiting.Wait()
	settle(t, b, 0)
	if err := take(greedy, 27<<20); err != nil {
		t.Errorf("one that is larger than a share, alone: %v", err)
	}
	held = nil
	settle(t, b, 0)
	if len(b.parts) > 0 {
		t.Errorf("%d parts still count", len(b.parts))
	}
}

// TestNoCircle checks that messages that grow at the same time do not wait in a circle: all are completed.
func TestNoCircle(t *testing.T) {
	b := New(MinLimit)
	in := []*Budget{b, b.Part(MinLimit), b.Part(MinLimit)}
	var all sync.WaitGroup
	var mu sync.Mutex
	whole, dropped := 0, 0
	for i := range 16 {
		all.Go(func() {
			x := Buffer{Budget: in[i%len(in)], Max: 1 << 20}
			_, err := x.ReadFrom(io.LimitReader(iotest.HalfReader(zeros{}), 1<<20))
			mu.Lock()
			defer mu.Unlock()
			if err == nil && x.Len() == 1<<20 {
				whole++
			} else if errors.As(err, new(*Error)) {
				dropped++
			}
		})
	}
	all.Wait()
	if whole != 16 {
		t.Errorf("%d whole, %d dropped", whole, dropped)
	}
	settle(t, b, 0)
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	time.Sleep(time.Microsecond)
	return min(len(p), 32<<10), nil
}

func TestBufferKeepsTheBytes(t *testing.T) {
	want := bytes.Repeat([]byte("0123456789"), 100_000)
	for _, x := range []*Buffer{{}, {Budget: New(DefaultLimit)}, {Budget: New(DefaultLimit), Expect: len(want)}, {Expect: 1 << 40, Max: len(want) + 1}} {
		if n, err := x.ReadFrom(iotest.DataErrReader(bytes.NewReader(want))); err != nil || n != int64(len(want)) || !bytes.Equal(x.Bytes(), want) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
	short := Buffer{Max: 100}
	if _, err := short.ReadFrom(bytes.NewReader(want)); err != nil || short.Len() < 100 || short.Len() > 1000 {
		t.Errorf("%d bytes: %v", short.Len(), err)
	}
}

// TestScratchIsNobodysMessage checks that reused memory changes no earlier message, even if a message outgrows it or is
// not read to its end.
func TestScratchIsNobodysMessage(t *testing.T) {
	var whole [][]byte
	var want []string
	for i := range 200 {
		text := strings.Repeat(string(rune('a'+i%26)), 1+(i*i*37)%(3*Free))
		x := Buffer{Budget: New(DefaultLimit)}
		half := len(text) / 2
		for _, part := range []string{text[:half], text[half:]} {
			if _, err := x.ReadFrom(iotest.HalfReader(strings.NewReader(part))); err != nil {
				t.Fatal(err)
			}
		}
		if i%5 == 0 {
			continue // abandoned
		}
		whole, want = append(whole, x.Bytes()), append(want, text)
	}
	for i := range whole {
		if string(whole[i]) != want[i] {
			t.Fatalf("message %d of %d bytes changed", i, len(want[i]))
		}
	}
}

// Used returns how many bytes count now.
func (b *Budget) Used() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}
