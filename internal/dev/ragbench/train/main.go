// Train prepares the training of the embedding table in rag/embed.
//
// It extracts pairs of comment and code from Debian packages, and converts them to lists of word numbers for train.py.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
)

// pair is a comment and the code that it describes.
type pair struct {
	Package string `json:"package"`
	Doc     string `json:"doc"`
	Code    string `json:"code"`
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "train:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 {
		return errors.New("want pairs or tokens")
	}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	out := flags.String("out", "", "file of pairs, or directory of tokens, to write")
	in := flags.String("in", "", "tokens: file of pairs")
	leaveOut := flags.String("leave-out", "", `tokens: file of texts, {"text": …} a line, whose code is not trained on`)
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	if *out == "" {
		return errors.New("-out is missing")
	}
	switch args[0] {
	case "pairs":
		return writePairs(*out, flags.Args())
	case "tokens":
		return writeTokens(*in, *out, *leaveOut)
	}
	return fmt.Errorf("%q: want pairs or tokens", args[0])
}

// writePairs writes the pairs of all packages, each pair once.
func writePairs(out string, packages []string) error {
	f, err := os.Create(out)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	encoder := json.NewEncoder(w)
	seen := map[[32]byte]bool{}
	n, skipped := 0, 0
	for _, path := range packages {
		found, err := readPackage(path)
		if errors.Is(err, errLicence) {
			skipped++
			continue
		}
		if err != nil {
			return errors.Join(fmt.Errorf("%s: %w", path, err), f.Close())
		}
		for _, p := range found {
			if k := p.key(); !seen[k] {
				seen[k] = true
				n++
				if err := encoder.Encode(p); err != nil {
					return errors.Join(err, f.Close())
				}
			}
		}
	}
	fmt.Printf("%d pairs of %d packages; %d left out for their licence\n", n, len(packages)-skipped, skipped)
	return errors.Join(w.Flush(), f.Close())
}
