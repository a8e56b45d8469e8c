package cluster

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/nats-io/nats.go"
)

// format is the format of a value in the bucket. It is raised with a change that older callgates would misread: they
// stop instead, and leave the value alone.
type format int

const (
	first  format = 1 // has no header
	newest        = first

	headerFormat = "Callgate-Format"
)

// ErrNewer means that a newer callgate wrote what this one cannot read. Nothing runs here until it is upgraded.
var ErrNewer = errors.New("a newer callgate wrote to the cluster: upgrade this replica")

// formatOf returns the format that a value claims to have.
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

// seals returns what a value is sealed for besides its place, so nobody without the key can make one look newer.
func (f format) seals() string {
	if f == first {
		return ""
	}
	return "\x00" + headerFormat + " " + strconv.Itoa(int(f))
}

// noteNewer notes whether a key's value is newer than this callgate. The caller holds mu.
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
