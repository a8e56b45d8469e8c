package checkpoint

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"sync"
)

// A segment is an append-only file of records. It has everything that its checkpoints need, each content once, so it
// can be removed as a whole without looking at others. Only the last record can be torn, by a kill or a power cut. All
// records before it are whole, and readers stop there.
//
//	kind 1 byte · length of the payload 8 · SHA-256 of the payload 32 · CRC-32C of these 41 bytes 4 · payload
const (
	recordContent    = 'b' // bytes of a file, or the entries of a folder as JSON
	recordCheckpoint = 'c' // Checkpoint as JSON
	recordEvent      = 'e' // event as JSON

	headerSize = 1 + 8 + sha256.Size + 4

	// maxRecord is the greatest length that a reader believes.
	maxRecord = 1 << 32
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

type header struct {
	kind byte
	size int64
	hash Hash
}

func (h header) encode() (b [headerSize]byte) {
	b[0] = h.kind
	binary.LittleEndian.PutUint64(b[1:], uint64(h.size))
	copy(b[9:], h.hash[:])
	binary.LittleEndian.PutUint32(b[headerSize-4:], crc32.Checksum(b[:headerSize-4], castagnoli))
	return b
}

// readHeader reads the header of the record at offset at. It returns io.EOF at the end, and for an incomplete record.
func readHeader(r io.ReaderAt, at, end int64) (h header, err error) {
	var b [headerSize]byte
	if at+headerSize > end {
		return h, io.EOF
	}
	if n, err := r.ReadAt(b[:], at); n < len(b) {
		return h, cmpErr(err)
	}
	if binary.LittleEndian.Uint32(b[headerSize-4:]) != crc32.Checksum(b[:headerSize-4], castagnoli) {
		return h, io.EOF
	}
	h = header{kind: b[0], size: int64(binary.LittleEndian.Uint64(b[1:])), hash: Hash(b[9 : 9+sha256.Size])}
	if h.size < 0 || h.size > maxRecord || at+headerSize+h.size > end {
		return h, io.EOF
	}
	return h, nil
}

// cmpErr returns the error of a read that got too little.
func cmpErr(err error) error {
	if err == nil {
		return io.ErrUnexpectedEOF
	}
	return err
}

// readPayload reads and checks the payload of the record at offset at.
func readPayload(r io.ReaderAt, at int64, h header) ([]byte, error) {
	payload := make([]byte, h.size)
	if n, err := r.ReadAt(payload, at+headerSize); n < len(payload) {
		return nil, cmpErr(err)
	}
	if sha256.Sum256(payload) != h.hash {
		return nil, damagedAt(at)
	}
	return payload, nil
}

// checkPayload checks the payload of the record at offset at, without keeping it in memory.
func checkPayload(r io.ReaderAt, at int64, h header) error {
	sum := sha256.New()
	if _, err := io.Copy(sum, io.NewSectionReader(r, at+headerSize, h.size)); err != nil {
		return err
	}
	if Hash(sum.Sum(nil)) != h.hash {
		return damagedAt(at)
	}
	return nil
}

func damagedAt(at int64) error { return fmt.Errorf("the record at byte %d is damaged", at) }

// span locates a record.
type span struct {
	at   int64
	size int64 // of the payload
}

// maxUnwritten is how many bytes a segment collects before it writes.
const maxUnwritten = 1 << 20

// segment is a segment that this process writes.
type segment struct {
	name string

	mu      sync.Mutex
	file    medium
	size    int64 // bytes written
	pending bytes.Buffer
	known   map[Hash]span // contents in the segment
	users   int           // checkpoints being taken into it; guarded by Store.mu
	broken  error         // why nothing more can be written
}

// has reports whether the content is in the segment.
func (s *segment) has(hash Hash) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.known[hash]
	return ok
}

// entries is the lister of the segment.
func (s *segment) entries(hash Hash) ([]Entry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, ok := s.known[hash]
	if !ok {
		return nil, fmt.Errorf("the list %x… is not in the store", hash[:6])
	}
	if err := s.flush(); err != nil {
		return nil, err
	}
	text, err := readPayload(s.file, at.at, header{recordContent, at.size, hash})
	if err != nil {
		return nil, err
	}
	var list []Entry
	return list, json.Unmarshal(text, &list)
}

// content adds bytes unless they are there already. It returns how much the segment grew.
func (s *segment) content(hash Hash, payload []byte) (grown int64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.known[hash]; ok {
		return 0, nil
	}
	at := span{s.size + int64(s.pending.Len()), int64(len(payload))}
	if err := s.add(header{recordContent, int64(len(payload)), hash}, payload); err != nil {
		return 0, err
	}
	s.known[hash] = at
	return headerSize + int64(len(payload)), nil
}

// record adds a checkpoint or an event, and writes it with everything added before. With durable, it returns once that
// is on the disk.
func (s *segment) record(kind byte, payload []byte, durable bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.add(header{kind, int64(len(payload)), sha256.Sum256(payload)}, payload); err != nil {
		return err
	}
	if err := s.flush(); err != nil || !durable {
		return err
	}
	if err := s.file.Sync(); err != nil {
		s.broken = err // nobody knows how much of it is on the disk
		return err
	}
	return nil
}

// add appends one record. The caller holds mu.
func (s *segment) add(h header, payload []byte) error {
	if s.broken != nil {
		return s.broken
	}
	head := h.encode()
	s.pending.Write(head[:])
	s.pending.Write(payload)
	if s.pending.Len() < maxUnwritten {
		return nil
	}
	return s.flush()
}

// flush writes what is pending. The caller holds mu. If the disk is full, it cuts off the torn record. Nothing more is
// written to the segment then, because it lacks contents that it should have.
func (s *segment) flush() error {
	if s.pending.Len() == 0 {
		return nil
	}
	n, err := s.file.Write(s.pending.Bytes())
	s.pending.Reset()
	if err != nil {
		s.broken = errors.Join(err, s.file.Truncate(s.size))
		return s.broken
	}
	s.size += int64(n)
	return nil
}

func (s *segment) written() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.size
}

func (s *segment) usable() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.broken == nil
}
