package supply

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"callgate/internal/upstream"
)

// python adds to e what uvx would run: uv returns the versions, and the digests of all their files.
func (x *Examiner) python(ctx context.Context, s *Server, e *Entry, program, spec string, before time.Time) error {
	e.Package = upstream.Packages(s.Command, s.Args, "")[0]
	if name, version, ok := strings.Cut(spec, "@"); ok { // as uvx writes it
		if spec = name + "==" + version; version == "latest" {
			spec = name
		}
	}
	dir, err := os.MkdirTemp("", "callgate-lock-") // so that no project's settings are read
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) // a temporary folder: the system removes leftovers
	args := []string{"pip", "compile", "--quiet", "--no-header", "--no-annotate", "--generate-hashes"}
	for i, arg := range s.Args {
		option, value, joined := strings.Cut(arg, "=")
		if !joined && i+1 < len(s.Args) {
			value = s.Args[i+1]
		}
		switch option {
		case "-w", "--with":
			spec += "\n" + strings.ReplaceAll(value, ",", "\n")
		case "-p", "--python":
			args = append(args, "--python", value)
		}
	}
	if !before.IsZero() {
		args = append(args, "--exclude-newer", before.UTC().Format(time.RFC3339))
	}
	out, err := x.run(ctx, s, siblingProgram(program, "uv"), dir, spec+"\n", append(args, "-")...)
	if err != nil {
		return err
	}
	for name, p := range readRequirements(string(out)) {
		e.mergePackage(name, p)
		if n, version, _ := strings.Cut(name, "@"); n == e.Package {
			e.Version = version
		}
	}
	if e.Version == "" {
		return fmt.Errorf("uv knows no version of %s", e.Package)
	}
	return nil
}

// readRequirements parses NAME==VERSION lines with --hash options, as uv and pip write them. A package's integrity
// covers the digests of all its files, in any order.
func readRequirements(text string) map[string]Package {
	found := map[string]Package{}
	for line := range strings.Lines(strings.ReplaceAll(text, "\\\n", " ")) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		name, version, ok := strings.Cut(words[0], "==")
		if !ok {
			continue
		}
		name, _, _ = strings.Cut(name, "[") // extras
		var hashes []string
		for _, word := range words[1:] {
			if digest, ok := strings.CutPrefix(word, "--hash="); ok {
				hashes = append(hashes, digest)
			}
		}
		slices.Sort(hashes)
		p := Package{}
		if len(hashes) > 0 {
			sum := sha256.Sum256([]byte(strings.Join(hashes, "\n")))
			p.Integrity = "sha256-" + hex.EncodeToString(sum[:])
		}
		found[strings.ToLower(name)+"@"+version] = p
	}
	return found
}
