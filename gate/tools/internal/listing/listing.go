// Package listing reads the names of files that patches and archives hold.
package listing

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Bounds of reading the names that a patch or an archive holds.
const (
	maxListed  = 300      // names
	maxListing = 32 << 20 // bytes, unpacked
)

// Err is the error for names that cannot be told.
var Err = errors.New("its names cannot be told")

// Stripped removes n leading elements from a name, or all but the last if n is negative. Too few elements give "".
func Stripped(name string, n int) string {
	name = strings.TrimLeft(name, "/")
	if n < 0 {
		return path.Base(name)
	}
	for ; n > 0; n-- {
		_, rest, ok := strings.Cut(name, "/")
		if !ok {
			return ""
		}
		name = strings.TrimLeft(rest, "/")
	}
	return name
}

// Names returns the names in the file at path, which is a patch, a zip or a tar.
func Names(path, format string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxListing {
		return nil, Err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, Err
	}
	defer f.Close()
	switch format {
	case "patch":
		return PatchNames(f)
	case "zip":
		return zipNames(f, info.Size())
	}
	return tarNames(f)
}

// PatchNames returns every name in the headers of a patch. A line of its text may look like a header: then it returns a
// name too many, never one too few.
func PatchNames(r io.Reader) (names []string, err error) {
	in := bufio.NewReaderSize(io.LimitReader(r, maxListing), 64<<10)
	for {
		line, err := in.ReadString('\n')
		if line == "" && err != nil {
			if !errors.Is(err, io.EOF) {
				return nil, Err
			}
			if len(names) == 0 {
				return nil, Err
			}
			return names, nil
		}
		line = strings.TrimRight(line, "\r\n")
		header := strings.TrimLeft(line, " \tX>") // patch finds headers that are indented
		if leadsElsewhere(header) {
			return nil, Err
		}
		for _, name := range headerNames(header) {
			name, ok := patchName(name)
			if !ok {
				return nil, Err
			}
			if name != "" && name != "/dev/null" && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		if len(names) > maxListed {
			return nil, Err
		}
	}
}

// leadsElsewhere reports whether a line of a patch says that its names do not tell which files it changes: it is
// encoded, has a link that later names may lead through, or is not a patch but a script.
func leadsElsewhere(header string) bool {
	switch lower := strings.ToLower(header); {
	case strings.HasPrefix(lower, "content-transfer-encoding:") && !strings.Contains(lower, "7bit") && !strings.Contains(lower, "8bit"),
		strings.HasPrefix(lower, "content-type:") && (strings.Contains(lower, "utf-16") || strings.Contains(lower, "utf-7") || strings.Contains(lower, "multipart")),
		strings.HasPrefix(header, "index ") && strings.HasSuffix(header, " 120000"):
		return true
	}
	for _, prefix := range []string{"new file mode 120000", "new mode 120000", "new file mode 160000", "Prereq:"} {
		if strings.HasPrefix(header, prefix) {
			return true
		}
	}
	return edScript(header)
}

// headerNames returns the names in a header of a patch as written there, except that a name of a rename gets a prefix.
func headerNames(header string) []string {
	switch {
	case strings.HasPrefix(header, "diff --git "):
		if a, b, ok := gitHeader(strings.TrimPrefix(header, "diff --git ")); ok {
			return []string{a, b}
		}
		return nil // its names stand again below, unless only its mode changes
	case strings.HasPrefix(header, "--- "), strings.HasPrefix(header, "+++ "), strings.HasPrefix(header, "*** "):
		return []string{header[4:]}
	case strings.HasPrefix(header, "Index:"):
		return []string{strings.TrimSpace(header[len("Index:"):])}
	}
	for _, prefix := range []string{"rename from ", "rename to ", "copy to ", "rename old ", "rename new "} {
		if name, ok := strings.CutPrefix(header, prefix); ok {
			if unquoted, ok := patchName(name); ok {
				name = unquoted
			}
			return []string{"a/" + name} // such a name has no prefix
		}
	}
	return nil
}

// edScript reports whether a line is a command of ed, because patch runs scripts of ed.
func edScript(line string) bool {
	digits := strings.TrimLeft(line, "0123456789,")
	return len(digits) < len(line) && len(digits) == 1 && strings.Contains("acdis", digits)
}

// patchName returns one name of a header, without the time behind it and without quotes.
func patchName(s string) (string, bool) {
	if strings.HasPrefix(s, `"`) {
		end := strings.LastIndexByte(s, '"')
		if end == 0 {
			return "", false
		}
		name, err := strconv.Unquote(s[:end+1])
		return name, err == nil
	}
	s, _, _ = strings.Cut(s, "\t")
	return strings.TrimSpace(s), true
}

// gitHeader returns the two names in a line "diff --git a/x b/x". ok is false if blanks hide where the first ends.
func gitHeader(s string) (a, b string, ok bool) {
	if strings.HasPrefix(s, `"`) {
		if end := strings.Index(s[1:], `" `); end >= 0 {
			return s[:end+2], s[end+3:], true
		}
		return "", "", false
	}
	if half := len(s) / 2; len(s)%2 == 1 && s[half] == ' ' {
		if _, x, _ := strings.Cut(s[:half], "/"); x != "" && strings.HasSuffix(s[half+1:], x) {
			return s[:half], s[half+1:], true
		}
	}
	a, b, ok = strings.Cut(s, " ")
	return a, b, ok && !strings.Contains(b, " ")
}

func zipNames(f io.ReaderAt, size int64) (names []string, err error) {
	r, err := zip.NewReader(f, size)
	if err != nil || len(r.File) > maxListed {
		return nil, Err
	}
	for _, e := range r.File {
		if e.Mode()&(fs.ModeSymlink|fs.ModeIrregular|fs.ModeDevice) != 0 || e.NonUTF8 || strings.ContainsAny(e.Name, "\x00\\") {
			return nil, Err
		}
		names = append(names, e.Name)
	}
	return names, nil
}

func tarNames(f io.ReadSeeker) (names []string, err error) {
	var magic [6]byte
	n, _ := io.ReadFull(f, magic[:])
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, Err
	}
	var in io.Reader = f
	switch head := magic[:n]; {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		if in, err = gzip.NewReader(f); err != nil {
			return nil, Err
		}
	case bytes.HasPrefix(head, []byte("BZh")):
		in = bzip2.NewReader(f)
	}
	limited := &io.LimitedReader{R: in, N: maxListing}
	r := tar.NewReader(limited)
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) && limited.N > 0 {
			// Zeros may hide a further archive behind the first, which tar reads on request alone.
			return names, nil
		}
		if err != nil || len(names) == maxListed {
			return nil, Err
		}
		switch h.Typeflag {
		case tar.TypeReg, tar.TypeDir:
		default: // a link that later names may lead through, or what nobody unpacks
			return nil, Err
		}
		if strings.ContainsAny(h.Name, "\x00") {
			return nil, Err
		}
		names = append(names, h.Name)
	}
}
