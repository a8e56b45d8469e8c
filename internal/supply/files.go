package supply

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"callgate/internal/upstream"
)

// code lists the extensions of files that are run.
var code = []string{".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".py", ".pyz", ".rb", ".sh", ".bash", ".pl", ".php", ".jar", ".dll", ".exe", ".so", ".node", ".wasm", ".ps1", ".bat", ".cmd"}

// files returns the digests of the files that a command names: the scripts among its arguments, and its program, unless
// that is an interpreter.
func files(s *Server, program string) (map[string]string, error) {
	found := map[string]string{}
	interprets := upstream.Interprets(s.Command)
	if !interprets {
		digest, err := digestFile(program)
		if err != nil {
			return nil, err
		}
		found[program] = digest
	}
	first := interprets // the operand is what is interpreted, whatever its name
	for _, arg := range s.Args {
		path := arg
		if i := strings.IndexByte(arg, '='); strings.HasPrefix(arg, "-") && i > 0 {
			path = arg[i+1:]
		}
		if !filepath.IsAbs(path) {
			path = filepath.Join(s.Dir, path)
		}
		info, err := os.Stat(path)
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		if first || slices.Contains(code, strings.ToLower(filepath.Ext(path))) {
			if found[path], err = digestFile(path); err != nil {
				return nil, err
			}
		}
		first = first && strings.HasPrefix(arg, "-")
	}
	return found, nil
}

func digestFile(path string) (string, error) {
	sum := sha256.New()
	if err := digestInto(sum, path); err != nil {
		return "", err
	}
	return "sha256-" + hex.EncodeToString(sum.Sum(nil)), nil
}

func digestInto(sum hash.Hash, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	_, err = io.Copy(sum, f)
	return errors.Join(err, f.Close())
}

// digestFolder returns the digest of a package's files and their names, without nested packages.
func digestFolder(ctx context.Context, dir string) (string, error) {
	sum, one := sha256.New(), sha256.New()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		one.Reset()
		switch {
		case d.IsDir() && d.Name() == "node_modules":
			return filepath.SkipDir
		case d.Type().IsRegular():
			err = digestInto(one, path)
		case d.Type() == fs.ModeSymlink:
			var target string
			target, err = os.Readlink(path)
			one.Write([]byte("link " + target))
		default:
			return nil
		}
		sum.Write([]byte(filepath.ToSlash(rel) + "\x00"))
		sum.Write(one.Sum(nil))
		return err
	})
	return "sha256-" + hex.EncodeToString(sum.Sum(nil)), err
}
