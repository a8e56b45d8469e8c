package main

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"callgate/rag"
)

const (
	maxDocWords  = 48
	maxCodeWords = 320
	// minPairs is how many pairs must contain a word for it to get a row.
	minPairs = 40
	// maxPerPackage keeps large packages from dominating the training data.
	maxPerPackage = 400
)

// example is a pair as lists of words.
type example struct {
	words      [2][]string // of the comment and of the code
	validation bool
}

// writeTokens writes vocab.txt (a word, a tab and its number of pairs on each line), train.bin and validation.bin.
// These hold two lists for each pair, each its length and its words' numbers, as little-endian uint32.
func writeTokens(in, out, leaveOut string) error {
	blocked, err := readBlocked(leaveOut)
	if err != nil {
		return err
	}
	examples, pairsWith, err := readExamples(in, blocked)
	if err != nil {
		return err
	}
	var vocabulary []string
	for word, n := range pairsWith {
		if n >= minPairs {
			vocabulary = append(vocabulary, word)
		}
	}
	slices.SortFunc(vocabulary, func(a, b string) int {
		return cmp.Or(cmp.Compare(pairsWith[b], pairsWith[a]), cmp.Compare(a, b))
	})
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	numbers := map[string]uint32{}
	var list strings.Builder
	for i, word := range vocabulary {
		numbers[word] = uint32(i)
		fmt.Fprintf(&list, "%s\t%d\n", word, pairsWith[word])
	}
	if err := os.WriteFile(filepath.Join(out, "vocab.txt"), []byte(list.String()), 0o644); err != nil {
		return err
	}
	fmt.Printf("%d pairs, %d words\n", len(examples), len(vocabulary))
	return errors.Join(
		writeExamples(filepath.Join(out, "train.bin"), examples, numbers, false),
		writeExamples(filepath.Join(out, "validation.bin"), examples, numbers, true),
	)
}

func readExamples(path string, blocked map[[32]byte]bool) (examples []example, pairsWith map[string]int, err error) {
	pairsWith = map[string]int{}
	packages := map[string]int{}
	err = readLines(path, func(line []byte) error {
		var p pair
		if err := json.Unmarshal(line, &p); err != nil {
			return err
		}
		packages[p.Package]++
		if packages[p.Package] > maxPerPackage || blocked[codeKey(p.Code)] {
			return nil
		}
		e := example{words: [2][]string{firstOf(rag.Subwords(p.Doc), maxDocWords), firstOf(rag.Subwords(p.Code), maxCodeWords)}}
		if len(e.words[0]) < 3 || len(e.words[1]) < 8 {
			return nil
		}
		sum := sha256.Sum256([]byte(p.Package))
		e.validation = sum[0] < 4 // whole packages, one in 64
		examples = append(examples, e)
		distinct := map[string]bool{}
		for _, word := range slices.Concat(e.words[0], e.words[1]) {
			distinct[word] = true
		}
		for word := range distinct {
			pairsWith[word]++
		}
		return nil
	})
	return examples, pairsWith, err
}

func firstOf(words []string, n int) []string { return words[:min(n, len(words))] }

// readBlocked returns the texts of benchmarks, which must not be used for training.
func readBlocked(path string) (map[[32]byte]bool, error) {
	blocked := map[[32]byte]bool{}
	if path == "" {
		return blocked, nil
	}
	err := readLines(path, func(line []byte) error {
		var t struct {
			Text string `json:"text"`
		}
		err := json.Unmarshal(line, &t)
		blocked[codeKey(t.Text)] = true
		return err
	})
	return blocked, err
}

// codeKey returns the same value for code that differs only in white space.
func codeKey(code string) [32]byte {
	return sha256.Sum256([]byte(strings.Join(strings.Fields(code), "")))
}

func readLines(path string, each func(line []byte) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		if err := each(lines.Bytes()); err != nil {
			return err
		}
	}
	return lines.Err()
}

func writeExamples(path string, examples []example, numbers map[string]uint32, validation bool) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	for _, e := range examples {
		if e.validation != validation {
			continue
		}
		for _, words := range e.words {
			if err := writeNumbers(w, words, numbers); err != nil {
				return errors.Join(err, f.Close())
			}
		}
	}
	return errors.Join(w.Flush(), f.Close())
}

func writeNumbers(w io.Writer, words []string, numbers map[string]uint32) error {
	list := []uint32{0}
	for _, word := range words {
		if n, ok := numbers[word]; ok {
			list = append(list, n)
		}
	}
	list[0] = uint32(len(list) - 1)
	return binary.Write(w, binary.LittleEndian, list)
}
