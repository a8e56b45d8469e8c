package gate

import (
	"crypto/sha256"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"strings"

	"callgate/internal/tools"
)

// maxProgram bounds how much of an executed file an approval is bound to.
const maxProgram = 16 << 20

// hashPrograms writes the contents of the files that the call's commands execute by path into h: a script that
// changes while a person looks at its name is another script.
func hashPrograms(h hash.Hash, a *tools.Analysis, dir string) {
	for _, c := range a.Commands {
		for _, path := range programFiles(c.Argv, dir) {
			f, err := os.Open(path)
			if err != nil {
				continue // what does not exist cannot run; when it appears later, the fingerprint changes
			}
			fmt.Fprintf(h, "\x00program %s\x00", path)
			if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
				_, _ = io.Copy(h, io.LimitReader(f, maxProgram)) // an error makes another fingerprint, which voids the approval
			}
			f.Close()
		}
	}
}

// interpreters run the file that their first operand names.
var interpreters = map[string]bool{
	"sh": true, "bash": true, "dash": true, "ksh": true, "zsh": true, "fish": true, "source": true, ".": true,
	"python": true, "python3": true, "node": true, "deno": true, "bun": true, "ruby": true, "perl": true, "php": true, "lua": true, "Rscript": true,
}

// programFiles are the files that a command executes: the program, when it is named by a path, and the
// script that an interpreter is given.
func programFiles(argv []string, dir string) (paths []string) {
	add := func(name string) {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		paths = append(paths, name)
	}
	if len(argv) == 0 {
		return nil
	}
	if strings.ContainsRune(argv[0], '/') {
		add(argv[0])
	}
	if interpreters[filepath.Base(argv[0])] {
		for _, word := range argv[1:] {
			if !strings.HasPrefix(word, "-") {
				add(word)
				break
			}
		}
	}
	return paths
}

// reach is a fingerprint of what a call touches, how bad that is, and what it executes: an approval holds for
// it alone.
func reach(a *tools.Analysis, dir string) string {
	h := sha256.New()
	fmt.Fprintf(h, "%s %q", a.Risk, a.Marks)
	for i := range a.Subjects {
		s := &a.Subjects[i]
		fmt.Fprintf(h, "\x00%s\x00%s\x00%s\x00%q", s.Kind, s.Value, s.Effect, s.Decides)
	}
	hashPrograms(h, a, dir)
	return fmt.Sprintf("%x", h.Sum(nil))
}
