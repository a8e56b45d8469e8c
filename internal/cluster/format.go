package cluster

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/nats-io/nats.go"
)

// format is how a value in the bucket is written. It is raised with a change that callgates of before would misread:
// they stop instead, and leave the value alone.
type format int

const (
	first  format = 1 // has no header
	newest        = first

	headerFormat = "Callgate-Format"
)

// ErrNewer means that a newer callgate wrote what this one cannot read: nothing runs here until it is upgraded.
var ErrNewer = errors.New("a newer callgate wrote to the cluster: upgrade this replica")

// formatOf is the format that a value says it has.
func formatOf(h nats.Header) (format, error) {
	switch said := h.Values(headerFormat); len(said) {
	case 0:
		return first, nil
	case 1:
		n, err := strconv.Atoi(said[0])
		if err == nil && n <= int(first) {
			err = fmt.Errorf("%s: %d", headerFormat, n)
		}
		return format(n), err
	}
	return 0, fmt.Errorf("%s appears twice", headerFormat)
}

// seals is what a value of the format is sealed for, beyond its place: nobody without the key makes one look newer.
func (f format) seals() string {
	if f == first {
		return ""
	}
	return "\x00" + headerFormat + " " + strconv.Itoa(int(f))
}

// noteNewer notes whether what stands under a key is newer than this callgate. The caller holds mu.
func (b *bucket) noteNewer(key string, err error) {
	if errors.Is(err, ErrNewer) {
		b.newer[key] = err
	} else {
		delete(b.newer, key)
	}
	b.ahead.Store(nil)
	for _, one := range b.newer {
		b.ahead.Store(&one)
	}
}
