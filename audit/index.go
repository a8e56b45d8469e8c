package audit

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"callgate/internal/durable"
	"callgate/internal/periodic"
)

// A log's index has a Bloom filter of what the records can hold for each block of whole lines. Read skips blocks that
// cannot match and reads all others from the log, so an index never finds anything that the log does not hold. A
// missing or broken index, or one for another file, is not used.
const (
	indexExt    = ".index"
	blockSize   = 256 << 10 // at least, in the log
	filterSize  = 4 << 10   // 1.6 % of that
	indexEntry  = 8 + sha256.Size + filterSize + 4
	indexedMore = 16 // entries read at once
)

// indexSeed changes whenever the content of the filters changes.
const indexSeed = "callgate index 2"

// blockFilter is a Bloom filter of what the records of one block can hold.
type blockFilter [filterSize]byte

type indexBlock struct {
	end    int64             // offset in the log; the block begins where the previous one ends
	last   [sha256.Size]byte // digest of its last line
	filter blockFilter
}

func (b *indexBlock) encode() []byte {
	data := binary.LittleEndian.AppendUint64(make([]byte, 0, indexEntry), uint64(b.end))
	data = append(append(data, b.last[:]...), b.filter[:]...)
	return binary.LittleEndian.AppendUint32(data, crc32.ChecksumIEEE(append([]byte(indexSeed), data...)))
}

func (b *indexBlock) decode(data []byte) bool {
	body := data[:indexEntry-4]
	b.end = int64(binary.LittleEndian.Uint64(body))
	copy(b.last[:], body[8:])
	copy(b.filter[:], body[8+sha256.Size:])
	return binary.LittleEndian.Uint32(data[indexEntry-4:]) == crc32.Update(crc32.ChecksumIEEE([]byte(indexSeed)), crc32.IEEETable, body)
}

// bits are positions in a filter. A block that lacks one of them holds nothing that they stand for.
type bits []uint16

func (f *blockFilter) add(b bits) {
	for _, i := range b {
		f[i>>3] |= 1 << (i & 7)
	}
}

func (f *blockFilter) holds(b bits) bool {
	for _, i := range b {
		if f[i>>3]&(1<<(i&7)) == 0 {
			return false
		}
	}
	return true
}

// value appends the positions of a whole value.
func (b bits) value(name, value string) bits {
	if value == "" {
		return b
	}
	h := sha256.Sum256([]byte(name + value))
	for i := range 4 {
		b = append(b, binary.LittleEndian.Uint16(h[2*i:])%(filterSize*8))
	}
	return b
}

// text appends the positions of every three bytes of a lower-case text.
func (b bits) text(s string) bits {
	for i := 2; i < len(s); i++ {
		gram := uint32(s[i-2])<<16 | uint32(s[i-1])<<8 | uint32(s[i])
		b = append(b, uint16(gram*2654435761>>17))
	}
	return b
}

// texts returns the fields that a person can search a record for.
func (r *Record) texts() [14]string {
	return [...]string{r.Summary, r.Tool, r.Reason, r.By, r.Host, r.Principal, r.Project, r.Rule, r.Error, r.CallID, r.Approval, r.SessionID, r.Kind, string(r.Arguments)}
}

// Holds reports whether the record contains text, which must be in lower case. It ignores the record's case.
func (r *Record) Holds(text string) bool {
	for _, s := range r.texts() {
		if strings.Contains(strings.ToLower(s), text) {
			return true
		}
	}
	return false
}

func (f *blockFilter) addRecord(r *Record) {
	b := make(bits, 0, 1024)
	b = b.value("session", r.SessionID).value("call", r.CallID).value("worker", r.Worker).value("decision", r.Decision).value("tool", r.Tool)
	for _, s := range r.texts() {
		b = b.text(strings.ToLower(s))
	}
	f.add(b)
}

// sought is what a block must hold to match a filter: all of all, and one of any unless any is empty.
type sought struct {
	all bits
	any []bits
}

func (f *Filter) sought() (s sought) {
	s.all = s.all.value("session", f.SessionID).value("call", f.CallID).value("worker", f.Worker).value("decision", f.Decision)
	if !strings.ContainsAny(f.Tool, globChars) {
		s.all = s.all.value("tool", f.Tool)
	}
	s.all = s.all.text(strings.ToLower(f.Text))
	for _, id := range f.Calls {
		s.any = append(s.any, bits(nil).value("call", id))
	}
	return s
}

func (f *blockFilter) mayHold(s sought) bool {
	if !f.holds(s.all) {
		return false
	}
	if slices.ContainsFunc(s.any, f.holds) {
		return true
	}
	return len(s.any) == 0
}

// indexReader reads the blocks of a log's index from last to first.
type indexReader struct {
	file   pathReader
	sought sought
	n      int64 // blocks left
	ahead  []byte
	block  indexBlock // the last of the blocks left
	start  int64      // where it begins
}

// openIndex returns a reader for a log of that size. The reader has no blocks if nothing is sought or no index fits.
func openIndex(log string, size int64, s sought) *indexReader {
	x := &indexReader{file: pathReader(log + indexExt), sought: s}
	if len(s.all)+len(s.any) == 0 {
		return x
	}
	info, err := os.Stat(string(x.file))
	if err != nil {
		return x
	}
	x.n = info.Size() / indexEntry
	for x.load(); x.n > 0 && x.block.end > size; x.next() { // blocks added since
	}
	if x.n > 0 && !endsWith(log, &x.block) {
		x.n = 0
	}
	return x
}

// endsWith reports whether the block's last line is where the block ends in the log.
func endsWith(log string, b *indexBlock) bool {
	line, err := newBackward(pathReader(log), b.end).line()
	return err == nil && sha256.Sum256(line) == b.last
}

// load reads the last remaining block. It drops all remaining blocks if one cannot be read.
func (x *indexReader) load() {
	if x.n == 0 {
		return
	}
	if len(x.ahead) < 2*indexEntry && int64(len(x.ahead)) < x.n*indexEntry {
		many := min(x.n, indexedMore)
		x.ahead = make([]byte, many*indexEntry)
		if _, err := x.file.ReadAt(x.ahead, (x.n-many)*indexEntry); err != nil {
			x.n = 0
			return
		}
	}
	at := len(x.ahead) - indexEntry
	var before indexBlock
	if !x.block.decode(x.ahead[at:]) || at > 0 && !before.decode(x.ahead[at-indexEntry:at]) {
		x.n = 0
		return
	}
	x.start = before.end
}

func (x *indexReader) next() {
	x.n--
	x.ahead = x.ahead[:len(x.ahead)-indexEntry]
	x.load()
}

// passOver moves lines back over blocks that cannot match.
func (x *indexReader) passOver(lines *backward) error {
	if x.n == 0 {
		return nil
	}
	if err := lines.settle(); err != nil {
		return err
	}
	for ; x.n > 0 && x.block.end >= lines.end(); x.next() {
		if x.block.end == lines.end() && !x.block.filter.mayHold(x.sought) {
			lines.jump(x.start)
		}
	}
	return nil
}

// BuildIndex brings the indexes of all logs in dir up to date, which speeds up Read. It takes at most half of a
// processor, and removes the indexes of logs that are gone. If another process is building them, or dir does not exist,
// it does nothing.
func BuildIndex(ctx context.Context, dir string) (err error) {
	unlock, err := durable.TryLock(filepath.Join(dir, "index"+lockExt))
	if errors.Is(err, durable.ErrHeld) || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	defer func() { err = errors.Join(err, unlock()) }()
	ends, err := logEnds(dir)
	if err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	for _, end := range ends {
		if err := buildIndex(ctx, filepath.Join(dir, end.name), end.size); err != nil {
			return fmt.Errorf("audit: index of %s: %w", end.name, err)
		}
	}
	old, err := filepath.Glob(filepath.Join(dir, "*"+indexExt))
	for _, path := range old {
		if _, gone := os.Stat(strings.TrimSuffix(path, indexExt)); errors.Is(gone, os.ErrNotExist) {
			err = errors.Join(err, os.Remove(path))
		}
	}
	return err
}

// buildIndex appends the blocks that the index of a log of that size lacks.
func buildIndex(ctx context.Context, log string, size int64) (err error) {
	path := log + indexExt
	if err := durable.Regular(path); err != nil {
		return err
	}
	known := openIndex(log, size, sought{all: bits{0}})
	from := int64(0)
	if known.n > 0 {
		from = known.block.end
	}
	if size-from < blockSize {
		return nil
	}
	out, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	if err := out.Truncate(known.n * indexEntry); err != nil {
		return err
	}
	if _, err := out.Seek(known.n*indexEntry, io.SeekStart); err != nil {
		return err
	}
	in, err := durable.Open(log)
	if err != nil {
		return err
	}
	defer in.Close()
	lines := bufio.NewReaderSize(io.NewSectionReader(in, from, size-from), lastBlock)
	for b := (indexBlock{end: from}); ctx.Err() == nil; {
		began, start := time.Now(), b.end
		b.filter = blockFilter{}
		for b.end-start < blockSize {
			line, err := readLine(lines)
			if err != nil || line[len(line)-1] != '\n' {
				return ignoreEnd(err) // the last block is not full yet
			}
			b.end += int64(len(line))
			line = line[:len(line)-1]
			if r, err := decode(line); err == nil {
				b.filter.addRecord(&r)
			} else {
				b.filter = everyBit // readers must look at it themselves
			}
			b.last = sha256.Sum256(line)
		}
		if _, err := out.Write(b.encode()); err != nil {
			return err
		}
		periodic.Sleep(ctx, time.Since(began))
	}
	return ctx.Err()
}

func ignoreEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// everyBit is the filter of a block that may hold anything.
var everyBit = func() (f blockFilter) {
	for i := range f {
		f[i] = 0xff
	}
	return f
}()
