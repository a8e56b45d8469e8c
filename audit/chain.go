package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// Every line of a log and of the manifest is one JSON object whose last two members are "prev" and "hash":
//
//	{…,"prev":"<64 hex>","hash":"<64 hex>"}
//
// The hash is the SHA-256 of the line as it would be without the hash member: all bytes before `,"hash":`, then `}`.
// The check uses the bytes, never a decoded value, so two spellings of one value are different lines.
const (
	hashSize   = 2 * sha256.Size
	hashMember = `,"hash":"`
	hashSuffix = `"}`
	sealSize   = len(hashMember) + hashSize + len(hashSuffix)
)

// appendSealed completes the object in line, which MUST lack its closing brace, with its hash and a newline.
func appendSealed(line []byte) (sealed []byte, hash string) {
	line = append(line, '}')
	sum := sha256.Sum256(line)
	line = append(line[:len(line)-1], hashMember...)
	line = hex.AppendEncode(line, sum[:])
	hash = string(line[len(line)-hashSize:])
	return append(line, hashSuffix+"\n"...), hash
}

// checkSealed returns the hash in line, which has no newline, and whether it matches the line.
func checkSealed(line []byte) (hash string, ok bool) {
	cut := len(line) - sealSize
	if cut < 1 || !bytes.HasPrefix(line[cut:], []byte(hashMember)) || !bytes.HasSuffix(line, []byte(hashSuffix)) {
		return "", false
	}
	h := sha256.New()
	h.Write(line[:cut])
	h.Write([]byte{'}'})
	carried := line[cut+len(hashMember) : len(line)-len(hashSuffix)]
	return string(carried), string(carried) == hex.EncodeToString(h.Sum(nil))
}

// manifestGenesis is the previous hash in the first entry of every manifest.
var manifestGenesis = digest([]byte("callgate audit manifest 1"))

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// Head names one line of a chain by its file, number and hash. A head that is stored elsewhere shows whether anything
// up to it was changed, cut or removed since. A head of the manifest covers every log that the manifest had vouched for
// by then.
type Head struct {
	File string `json:"file"`
	Seq  uint64 `json:"seq"`
	Hash string `json:"hash"`
}

// String returns the head as ParseHead reads it: FILE:SEQ:HASH.
func (h Head) String() string { return h.File + ":" + strconv.FormatUint(h.Seq, 10) + ":" + h.Hash }

// ParseHead parses the result of String.
func ParseHead(s string) (Head, error) {
	parts := strings.Split(s, ":")
	if len(parts) == 3 && (parts[0] == manifestName || isLogName(parts[0])) && isHash(parts[2]) {
		if seq, err := strconv.ParseUint(parts[1], 10, 64); err == nil {
			return Head{File: parts[0], Seq: seq, Hash: parts[2]}, nil
		}
	}
	return Head{}, fmt.Errorf("%q is not a head: use FILE:SEQ:HASH", s)
}

func isHash(s string) bool {
	return len(s) == hashSize && strings.Trim(s, "0123456789abcdef") == ""
}
