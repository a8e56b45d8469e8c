package checkpoint

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
	"unicode/utf8"

	"callgate/internal/nolink"
)

// Reasons why something was left out, other than the text of an error.
const (
	whyTooLarge  = "larger than one file may be"
	whyNoFile    = "it is not a regular file"
	whyProtected = "it belongs to callgate"
	whyLimit     = "the checkpoint was full before it was reached"
	whyName      = "its name is not text"
	whyIgnored   = "git ignores it"
	whyMoves     = "it changed while callgate read it"
)

// capture looks at what is at paths. With a segment it keeps there what it sees. Without one it only remembers the
// lists of folders, for comparison.
type capture struct {
	s         *Store
	workspace string
	segment   *segment        // nil: only look
	lists     map[Hash][]byte // of folders, if segment is nil
	contents  bool            // also keep the bytes of files
	probe     bool            // only find out what could not be kept
	was       lister          // the lists kept before, for comparison; else nil
	grown     int64
	tree      budget
}

// budget is what is left for folders and workspaces.
type budget struct {
	bytes int64
	files int
	until time.Time
	spent string // why nothing more is looked at, or ""
	out   map[string]int
}

func (s *Store) newCapture(workspace string, g *segment, contents bool) *capture {
	return &capture{s: s, workspace: workspace, segment: g, contents: contents, lists: map[Hash][]byte{},
		tree: budget{bytes: s.o.MaxTree, files: s.o.MaxTreeFiles, until: time.Now().Add(s.o.MaxTreeTime), out: map[string]int{}}}
}

// path looks at one path. If a folder on the way is missing or is no folder, the result is about the outermost such
// path, because all of that appears or disappears together with the file. before is what was kept of path, the zero
// Entry if nothing.
func (c *capture) path(ctx context.Context, path string, scope Scope, before Entry) (Kept, error) {
	if c.s.o.Protected(path) {
		return Kept{Path: path, Entry: Entry{Kind: LeftOut, Why: whyProtected}}, nil
	}
	dir, name, stop, err := openFolderOf(path, c.workspace)
	if stop != "" { // claim nothing about a path that was not seen
		return c.path(ctx, stop, Whole, before)
	}
	if err != nil {
		return Kept{Path: path, Entry: Entry{Kind: LeftOut, Why: reason(err)}}, nil
	}
	defer dir.Close()
	kept := Kept{Path: filepath.Clean(path), Scope: scope}
	rel := "."
	var w *workspaceRules
	switch scope {
	case Git:
		w = c.s.readWorkspace(kept.Path)
	case Whole:
		if w, rel = c.s.workspaceAround(kept.Path); w != nil && before.Kind != Directory && w.leavesOut(rel, true) && isFolder(dir, name) {
			kept.Entry = Entry{Kind: LeftOut, Why: whyIgnored}
			return kept, nil
		}
	}
	info, err := dir.Lstat(name)
	kept.Entry, err = c.entry(ctx, found{dir, name, info, err}, kept.Path, rel, scope, w, before)
	kept.Name = ""
	return kept, err
}

// found is what is called name in dir, or the error of looking at it.
type found struct {
	dir  *os.Root
	name string
	info fs.FileInfo
	err  error
}

// entry looks at what was found at path. rel is its path in the workspace of w. An error comes from the store.
func (c *capture) entry(ctx context.Context, f found, path, rel string, scope Scope, w *workspaceRules, before Entry) (Entry, error) {
	dir, name, info, err := f.dir, f.name, f.info, f.err
	e := Entry{Name: name}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e.Kind = Absent
	case err != nil:
		e.Kind, e.Why = LeftOut, reason(err)
	case info.Mode()&fs.ModeSymlink != 0:
		e.Kind = Symlink
		if e.Target, err = dir.Readlink(name); err != nil {
			e.Kind, e.Why = LeftOut, reason(err)
		}
	case info.IsDir() && (scope == Alone || c.probe):
		e.Kind, e.Mode = Directory, modeOf(info.Mode())
	case info.IsDir():
		inner, err := nolink.Folder(dir, name)
		if err != nil {
			e.Kind, e.Why = LeftOut, reason(err)
			break
		}
		defer inner.Close()
		hash, why, err := c.folder(ctx, inner, path, rel, scope, w, before)
		if e.Kind, e.Mode, e.Hash = Directory, modeOf(info.Mode()), hash; why != "" {
			e = Entry{Name: name, Kind: LeftOut, Mode: e.Mode, Why: why}
		}
		return e, err
	case !info.Mode().IsRegular():
		e.Kind, e.Why = LeftOut, whyNoFile
	default:
		return c.file(dir, e, info, path, scope)
	}
	return e, nil
}

// leavesOut returns why what is at path is not looked at, and counts it. It returns "" if it is looked at.
func (c *capture) leavesOut(ctx context.Context, n os.DirEntry, path string) string {
	why := c.tree.take(ctx, n)
	switch {
	case why == "" && !utf8.ValidString(n.Name()):
		why = whyName
	case why == "" && c.s.o.Protected(path):
		return whyProtected
	}
	if why != "" {
		c.tree.out[why]++
	}
	return why
}

// folder looks at everything in dir and returns the hash of the list, or why there is none. What was not looked at is
// in the list as left out. A file that was there before MUST NOT look as if it came later.
func (c *capture) folder(ctx context.Context, dir *os.Root, path, rel string, scope Scope, w *workspaceRules, before Entry) (hash Hash, why string, err error) {
	names, why := namesIn(dir)
	if why != "" {
		return Hash{}, why, nil
	}
	was, err := c.keptIn(before)
	if err != nil {
		return Hash{}, "", err
	}
	if w != nil {
		w = w.inside(dir.FS(), rel)
	}
	list := make([]Entry, 0, len(names))
	for _, n := range names {
		name, inner := n.Name(), filepath.Join(path, n.Name())
		innerRel := name
		if rel != "." {
			innerRel = rel + "/" + name
		}
		if w != nil && name == ".git" {
			continue
		}
		// What was kept is compared, and what was ignored stays ignored, whatever the ignore rules say now.
		prev, had := was[name]
		if had && prev.Why == whyIgnored || !had && w != nil && w.leavesOut(innerRel, n.IsDir()) {
			if utf8.ValidString(name) {
				list = append(list, Entry{Name: name, Kind: LeftOut, Why: whyIgnored})
			}
			continue
		}
		if why := c.leavesOut(ctx, n, inner); why != "" {
			if why != whyName { // no list can contain it
				list = append(list, Entry{Name: name, Kind: LeftOut, Why: why})
			}
			continue
		}
		info, err := n.Info()
		e, err := c.entry(ctx, found{dir, name, info, err}, inner, innerRel, scope, w, prev)
		if err != nil {
			return Hash{}, "", err
		}
		if e.Kind == LeftOut {
			c.tree.out[e.Why]++
		}
		if e.Kind != Absent {
			list = append(list, e)
		}
	}
	hash, err = c.keepList(list)
	return hash, "", err
}

// namesIn returns the entries of a folder sorted by name, or why it cannot be listed completely.
func namesIn(dir *os.Root) (names []fs.DirEntry, why string) {
	f, err := dir.Open(".")
	if err == nil {
		names, err = f.ReadDir(-1)
		f.Close()
	}
	if err != nil {
		return nil, reason(err)
	}
	slices.SortFunc(names, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	return names, ""
}

// keptIn returns what was kept of a folder, by name.
func (c *capture) keptIn(before Entry) (map[string]Entry, error) {
	if c.was == nil || before.Kind != Directory || before.Hash == (Hash{}) {
		return nil, nil
	}
	list, err := c.was(before.Hash)
	was := make(map[string]Entry, len(list))
	for _, e := range list {
		was[e.Name] = e
	}
	return was, err
}

// keepList keeps the list of a folder's entries and returns its hash.
func (c *capture) keepList(list []Entry) (Hash, error) {
	text, err := json.Marshal(list)
	if err != nil {
		return Hash{}, err
	}
	hash := Hash(sha256.Sum256(text))
	if c.segment == nil {
		c.lists[hash] = text
		return hash, nil
	}
	grown, err := c.segment.content(hash, text)
	c.grown += grown
	return hash, err
}

// take counts one more entry of a folder. It returns why if that is one too many, or "".
func (b *budget) take(ctx context.Context, n fs.DirEntry) string {
	if b.spent != "" {
		return b.spent
	}
	if !n.IsDir() {
		b.files--
	}
	if b.files < 0 || b.bytes < 0 || time.Now().After(b.until) || ctx.Err() != nil {
		b.spent = whyLimit
	}
	return b.spent
}

// file looks at a regular file.
func (c *capture) file(dir *os.Root, e Entry, info fs.FileInfo, path string, scope Scope) (Entry, error) {
	e.Kind, e.Mode, e.Size = File, modeOf(info.Mode()), info.Size()
	left := func(why string) (Entry, error) {
		return Entry{Name: e.Name, Kind: LeftOut, Mode: e.Mode, Size: info.Size(), Why: why, Stamp: info.ModTime().UnixNano()}, nil
	}
	if info.Size() > c.s.o.MaxFile {
		return left(whyTooLarge)
	}
	keeps := c.segment != nil && c.contents
	if hash, ok := c.s.cache.get(path, info); ok && (!keeps || c.segment.has(hash)) {
		e.Hash = hash
		return e, nil
	}
	if keeps && scope != Alone && c.tree.bytes < info.Size() {
		return left(whyLimit)
	}
	f, err := nolink.File(dir, e.Name, info)
	if err != nil {
		return left(reason(err))
	}
	defer f.Close()
	if c.probe {
		return e, nil
	}
	began := time.Now()
	data, err := readAll(f, info.Size())
	if err != nil {
		return left(reason(err))
	}
	if after, err := f.Stat(); err != nil || after.Size() != int64(len(data)) || !after.ModTime().Equal(info.ModTime()) {
		return left(whyMoves)
	}
	e.Hash = sha256.Sum256(data)
	if keeps {
		grown, err := c.segment.content(e.Hash, data)
		if err != nil {
			return e, err
		}
		c.grown += grown
		if scope != Alone {
			c.tree.bytes -= grown
		}
	}
	c.s.cache.put(path, info, e.Hash, began)
	return e, nil
}

func isFolder(dir *os.Root, name string) bool {
	info, err := dir.Lstat(name)
	return err == nil && info.IsDir()
}

// readAll reads a file of size bytes. It returns an error if the file has grown.
func readAll(f *os.File, size int64) ([]byte, error) {
	data := make([]byte, size+1)
	n, err := io.ReadFull(f, data)
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return data[:n], nil
	case err != nil:
		return nil, err
	}
	return nil, errors.New(whyMoves)
}

// notes describes, for people, what was left out of folders and workspaces.
func (c *capture) notes() (notes []string) {
	for why, n := range c.tree.out {
		what := "files or folders were"
		if n == 1 {
			what = "file or folder was"
		}
		notes = append(notes, fmt.Sprintf("%d %s left out: %s", n, what, why))
	}
	slices.Sort(notes)
	return notes
}

// entries is the lister for what was looked at without being kept.
func (c *capture) entries(hash Hash) (list []Entry, err error) {
	text, ok := c.lists[hash]
	if !ok {
		return nil, fmt.Errorf("the list %x… was not looked at", hash[:6])
	}
	return list, json.Unmarshal(text, &list)
}

// reason returns the text of an error without its path.
func reason(err error) string {
	if errors.Is(err, nolink.ErrLink) {
		return nolink.ErrLink.Error()
	}
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Err.Error()
	}
	return err.Error()
}
