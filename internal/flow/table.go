package flow

// table is a bounded set of hashes with flags and a source for each. Once half of it is full, it forgets the older
// half.
type table struct {
	limit        int // entries of one half
	young, older half
	forgot       bool // something was forgotten
}

// half is an open-addressed hash table of entries; 0 is a free slot.
type half struct {
	entries []entry
	used    int
}

// entry holds 40 bits of a hash, 8 bits of flags and the 16-bit number of a source.
type entry uint64

const (
	tagMask   = 1<<40 - 1
	firstSize = 1 << 5
)

func (e entry) tag() uint64    { return uint64(e) & tagMask }
func (e entry) flags() uint8   { return uint8(e >> 40) }
func (e entry) source() uint16 { return uint16(e >> 48) }

func makeEntry(tag uint64, flags uint8, source uint16) entry {
	return entry(tag | uint64(flags)<<40 | uint64(source)<<48)
}

// tagOf returns the tag of a hash, which is never 0.
func tagOf(hash uint64) uint64 { return max(hash>>24, 1) }

// place returns the slot of the tag, or the free slot where it belongs.
func (h *half) place(tag uint64) *entry {
	mask := uint64(len(h.entries) - 1)
	for i := (tag ^ tag>>20) & mask; ; i = (i + 1) & mask {
		if e := &h.entries[i]; *e == 0 || e.tag() == tag {
			return e
		}
	}
}

func (h *half) get(hash uint64) (entry, bool) {
	if len(h.entries) == 0 {
		return 0, false
	}
	e := *h.place(tagOf(hash))
	return e, e != 0
}

// get returns the flags and the source of a hash, or zeros.
func (t *table) get(hash uint64) (flags uint8, source uint16) {
	a, inYoung := t.young.get(hash)
	b, inOlder := t.older.get(hash)
	switch {
	case inYoung:
		return a.flags() | b.flags(), a.source()
	case inOlder:
		return b.flags(), b.source()
	}
	return 0, 0
}

// put stores a hash. If flags are new for it, they are added and source replaces the old one.
func (t *table) put(hash uint64, flags uint8, source uint16) {
	h := &t.young
	if len(h.entries) == 0 {
		h.entries = make([]entry, firstSize)
	}
	e := h.place(tagOf(hash))
	switch {
	case *e == 0:
		*e = makeEntry(tagOf(hash), flags, source)
		if h.used++; h.used > len(h.entries)*5/8 {
			t.grow()
		}
	case flags&^e.flags() != 0:
		*e = makeEntry(e.tag(), e.flags()|flags, source)
	}
}

// grow makes room: it enlarges the young half, or replaces the older half by it.
func (t *table) grow() {
	if len(t.young.entries) >= t.limit {
		t.forgot = t.forgot || t.older.used > 0
		t.older, t.young = t.young, half{entries: t.older.entries}
		clear(t.young.entries)
		return
	}
	old := t.young.entries
	grown := half{entries: make([]entry, min(len(old)*4, t.limit)), used: t.young.used}
	for _, e := range old {
		if e != 0 {
			*grown.place(e.tag()) = e
		}
	}
	t.young = grown
}
