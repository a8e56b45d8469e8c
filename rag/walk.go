package rag

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"callgate/internal/nolink"
	"callgate/rag/chunks"
	"callgate/rag/ignore"
	"callgate/rag/internal/extract"
	"callgate/rag/internal/terms"
)

// workspace is a directory whose files are indexed. Files are opened only below it and never through a link, even if
// somebody replaces files meanwhile.
type workspace struct {
	dir     string // absolute, without links
	root    *os.Root
	denied  func(string) bool
	ignores *ignore.Files // of the top directory
	maxSize int64
	max     int
}

func (x *Index) openWorkspace(dir string) (*workspace, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return nil, err
	}
	info, err := os.Stat(dir)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		if reason := unsupported(dir); reason != "" {
			return nil, fmt.Errorf("%s: %s", dir, reason)
		}
		return nil, fmt.Errorf("%s is a file: name a directory to index", dir)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	w := &workspace{dir: dir, root: root, denied: x.options.Denied, maxSize: x.options.MaxFileSize, max: x.options.MaxFiles}
	w.readIgnores()
	return w, nil
}

// readIgnores reads the ignore files of the top directory and of the repository around it.
func (w *workspace) readIgnores() { w.ignores = ignore.Read(w.dir, w.root.FS()) }

func (w *workspace) close() error { return w.root.Close() }

// absolute returns the absolute path of a file.
func (w *workspace) absolute(name string) string {
	return filepath.Join(w.dir, filepath.FromSlash(name))
}

func (w *workspace) isDenied(name string) bool { return w.denied != nil && w.denied(w.absolute(name)) }

// found is a file to be indexed, if its content allows that.
type found struct {
	name    string
	size    int64
	modTime time.Time
	info    fs.FileInfo
}

// skipped is a file that is left out, or a folder with everything in it.
type skipped struct {
	name, reason string
	expected     bool // left out by an ignore file or because of its type
}

// walk lists files and directories. It follows no links: their targets are indexed where they are, or lie outside the
// workspace. It skips what it cannot read.
func (w *workspace) walk(ctx context.Context) (files []found, dirs []string, left []skipped, err error) {
	fsys := w.root.FS()
	beyond := 0
	var expected expected
	var secret []fs.FileInfo // denied files that have hard links
	var linked []int         // indices in files of those that have hard links
	inside := map[string]*ignore.Files{".": w.ignores}
	err = fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			if name == "." {
				return err
			}
			left = append(left, skipped{name: name, reason: err.Error()})
			if d != nil && d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if name == "." {
			dirs = append(dirs, name)
			return nil
		}
		rules := inside[path.Dir(name)]
		if why := rules.Why(name, d.IsDir()); why != "" {
			expected.add(name, why)
			if d.IsDir() {
				return fs.SkipDir
			}
			if rules.Secret(name) {
				secret = appendLinked(secret, d)
			}
			return nil
		}
		if w.isDenied(name) {
			left = append(left, skipped{name: name, reason: "denied"})
			if d.IsDir() {
				return fs.SkipDir
			}
			secret = appendLinked(secret, d)
			return nil
		}
		if d.IsDir() {
			inside[name] = rules.With(fsys, name)
			dirs = append(dirs, name)
			return nil
		}
		f, reason := w.candidate(name, d)
		switch {
		case f == nil && notForText(name, d) != "":
			expected.add(name, reason)
		case f == nil:
			left = append(left, skipped{name: name, reason: reason})
		case len(files) >= w.max:
			beyond++ // counted, not listed: there may be millions
		default:
			if ignore.HasOtherNames(f.info) {
				linked = append(linked, len(files))
			}
			files = append(files, *f)
		}
		return nil
	})
	files, left = withoutLinks(files, linked, secret, left)
	if beyond > 0 {
		left = append(left, skipped{name: ".", reason: fmt.Sprintf("%d files are left out: more than %d", beyond, w.max)})
	}
	return files, dirs, append(left, expected.all()...), err
}

// maxExpected bounds the list of files and folders that everybody expects to be left out.
const maxExpected = 10_000

// expected lists the first maxExpected of them and counts the rest: there may be millions.
type expected struct {
	listed []skipped
	more   int
}

func (e *expected) add(name, reason string) {
	if len(e.listed) == maxExpected {
		e.more++
		return
	}
	e.listed = append(e.listed, skipped{name, reason, true})
}

func (e *expected) all() []skipped {
	if e.more == 0 {
		return e.listed
	}
	return append(e.listed, skipped{".", fmt.Sprintf("%d more files and folders are left out", e.more), true})
}

// notForText returns why a file cannot hold text, going by its type and name, or "" if it may.
func notForText(name string, d fs.DirEntry) string {
	switch {
	case d.Type()&fs.ModeSymlink != 0:
		return "a symbolic link"
	case !d.Type().IsRegular():
		return "not a regular file"
	case binaryNames[ext(name)]:
		return "not text, by its name"
	}
	return ""
}

// candidate checks a file without opening it. It returns nil and a reason if the file is left out.
func (w *workspace) candidate(name string, d fs.DirEntry) (*found, string) {
	if reason := notForText(name, d); reason != "" {
		return nil, reason
	}
	if reason := unsupported(name); reason != "" {
		return nil, reason
	}
	info, err := d.Info()
	if err != nil {
		return nil, err.Error()
	}
	if info.Size() > w.maxSize {
		return nil, fmt.Sprintf("%d bytes, more than %d", info.Size(), w.maxSize)
	}
	return &found{name, info.Size(), info.ModTime(), info}, ""
}

// one looks at a single path as walk would. It returns nil for what walk would not list.
func (w *workspace) one(name string) *found {
	rules := w.ignores
	parts := strings.Split(name, "/")
	for i := 1; i < len(parts); i++ {
		dir := strings.Join(parts[:i], "/")
		info, err := w.root.Lstat(dir)
		if err != nil || !info.IsDir() || rules.Ignored(dir, true) || w.isDenied(dir) {
			return nil
		}
		rules = rules.With(w.root.FS(), dir)
	}
	info, err := w.root.Lstat(name)
	if err != nil || rules.Ignored(name, info.IsDir()) || w.isDenied(name) {
		return nil
	}
	f, _ := w.candidate(name, fs.FileInfoToDirEntry(info))
	return f
}

// errSkip is the reason why the content of a file is left out.
type errSkip string

func (e errSkip) Error() string { return string(e) }

// read returns the text of a file and its source as of now. It returns errSkip if the content is not text.
func (w *workspace) read(f *found) (text string, s source, err error) {
	dir, name, _, err := nolink.FolderOf(w.root, filepath.FromSlash(f.name))
	if err != nil {
		return "", s, err
	}
	defer dir.Close()
	info, err := dir.Lstat(name)
	if err != nil {
		return "", s, err
	}
	if !info.Mode().IsRegular() {
		return "", s, errSkip("not a regular file")
	}
	file, err := nolink.File(dir, name, info)
	if err != nil {
		return "", s, err
	}
	defer file.Close()
	s = source{Path: f.name, Size: info.Size(), ModTime: info.ModTime(), Read: time.Now(), Aside: aside(f.name)}
	data := make([]byte, 0, min(info.Size(), w.maxSize)+1)
	data, err = readUpTo(file, data, w.maxSize+1)
	if err != nil {
		return "", s, err
	}
	if int64(len(data)) > w.maxSize {
		return "", s, errSkip(fmt.Sprintf("more than %d bytes", w.maxSize))
	}
	s.Hash = hashOf(data)
	if data, err = decoded(data); err != nil {
		return "", s, err
	}
	l := chunks.LanguageOf(f.name, data)
	s.Language, s.Kind = l.Name, l.Kind
	if err := notText(data, l); err != nil {
		return "", s, err
	}
	return string(data), s, nil
}

// decoded returns the content as UTF-8, or errSkip if it is not text.
func decoded(data []byte) ([]byte, error) {
	text, err := extract.Decode(data)
	switch {
	case errors.Is(err, extract.ErrNoText):
		return nil, errSkip("binary")
	case err != nil:
		return nil, errSkip(err.Error())
	}
	return text, nil
}

// readUpTo reads to the end, but at most limit bytes, into buf, which grows as needed.
func readUpTo(r io.Reader, buf []byte, limit int64) ([]byte, error) {
	for int64(len(buf)) < limit {
		if len(buf) == cap(buf) {
			buf = append(buf, 0)[:len(buf)]
		}
		n, err := r.Read(buf[len(buf):min(int64(cap(buf)), limit)])
		buf = buf[:len(buf)+n]
		if errors.Is(err, io.EOF) {
			return buf, nil
		}
		if err != nil {
			return nil, err
		}
	}
	return buf, nil
}

func hashOf(data []byte) [16]byte {
	sum := sha256.Sum256(data)
	return [16]byte(sum[:16])
}

// notText returns nil, or an errSkip that says why the content is not worth indexing.
func notText(data []byte, l chunks.Language) error {
	head := data[:min(len(data), 8000)]
	if bytes.IndexByte(head, 0) >= 0 {
		return errSkip("binary")
	}
	controls := 0
	for _, b := range head {
		if b < ' ' && b != '\n' && b != '\r' && b != '\t' && b != '\f' && b != 0x1b {
			controls++
		}
	}
	if controls > len(head)/10 {
		return errSkip("binary")
	}
	if lines := bytes.Count(data, []byte("\n")) + 1; len(data)/lines > maxAverageLine && l.Kind != KindDoc {
		return errSkip("minified or generated: lines of " + fmt.Sprint(len(data)/lines) + " bytes")
	}
	return nil
}

// maxAverageLine is the average line length, in bytes, that no person writes.
const maxAverageLine = 500

// unsupported returns what to say about formats that people expect to be read, or "".
func unsupported(name string) string {
	switch ext(name) {
	case "pdf", "doc", "docx", "xls", "xlsx", "ppt", "pptx", "odt", "ods", "odp", "rtf", "epub":
		return "PDF and Office files are not read: convert them to text or Markdown"
	}
	return ""
}

func ext(name string) string { return strings.ToLower(strings.TrimPrefix(path.Ext(name), ".")) }

// binaryNames lists the extensions of files that are not worth opening.
var binaryNames = terms.Set(`png jpg jpeg gif webp ico bmp tif tiff psd avif heic mp3 mp4 m4a ogg oga ogv wav flac avi mov mkv webm
	zip gz tgz bz2 xz zst 7z rar tar jar war ear whl egg deb rpm apk dmg iso img exe dll so dylib a o obj lib bin class
	pyc pyo wasm woff woff2 ttf otf eot db sqlite sqlite3 parquet npy npz pt pth onnx safetensors gguf pack idx zap`)

// unchanged reports whether a file still is as indexed in s, going by size and time. A file changed shortly before it
// was read may have changed again within the clock's resolution, so it counts as changed.
func (f *found) unchanged(s *source) bool {
	return f.size == s.Size && f.modTime.Equal(s.ModTime) && s.Read.Sub(s.ModTime) > 2*time.Second
}

// isSkip reports whether err concerns only one file.
func isSkip(err error) bool {
	var skip errSkip
	return errors.As(err, &skip) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrInvalid) ||
		errors.Is(err, nolink.ErrLink) || errors.Is(err, nolink.ErrNoFolder) || errors.Is(err, nolink.ErrReplaced)
}

// appendLinked appends a file that must not be read if it has hard links, which could be read instead.
func appendLinked(secret []fs.FileInfo, d fs.DirEntry) []fs.FileInfo {
	if info, err := d.Info(); err == nil && info.Mode().IsRegular() && ignore.HasOtherNames(info) {
		secret = append(secret, info)
	}
	return secret
}

// withoutLinks removes from files those that are other names of denied files. linked holds the indices of files that
// have hard links, secret the denied files that have.
func withoutLinks(files []found, linked []int, secret []fs.FileInfo, left []skipped) ([]found, []skipped) {
	for _, i := range slices.Backward(linked) {
		if slices.ContainsFunc(secret, func(s fs.FileInfo) bool { return os.SameFile(s, files[i].info) }) {
			left = append(left, skipped{name: files[i].name, reason: "denied: another name of a denied file"})
			files = slices.Delete(files, i, i+1)
		}
	}
	return files, left
}

// GitIgnore holds what git leaves out of a workspace: the rules of the workspace's and the user's ignore files, without
// callgate's own exclusions.
type GitIgnore = ignore.Git

// ReadGitIgnore reads the user's ignore file, info/exclude of the repository, and the ignore files above dir in it.
// Inside reads that of dir, which is an absolute path without links.
func ReadGitIgnore(dir string) GitIgnore { return ignore.ReadGit(dir) }
