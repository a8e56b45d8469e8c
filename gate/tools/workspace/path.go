package workspace

import (
	"net/url"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"callgate/gate/tools/internal/wording"
	"callgate/permissions"
)

// Location is one reading of a path argument: all its spellings, and where it really leads.
type Location struct {
	Decides permissions.Form   // the real path, symbolic links resolved
	Also    []permissions.Form // other ways to read the same text
	Paths   []string           // absolute if the place is known: the real path first, then every other way
	Links   uint64             // hard links of the file; 0 if it does not exist or the system does not tell
	Err     error              // why the real path is not certain
}

// Real returns the path that the reading leads to, absolute if the place is known.
func (l *Location) Real() string { return l.Paths[0] }

// caseInsensitive is true if names that differ only in case name one file.
const caseInsensitive = runtime.GOOS == "darwin" || runtime.GOOS == "windows"

// Locate returns the readings of a path argument. The first is the plain reading. The others are readings that some
// servers take and others do not: percent escapes decoded, backslashes as separators, ".." after a symbolic link. A
// path is allowed only if all its locations are, because nobody can tell which one is opened. Readings that no careful
// server takes add forms for denies only.
func (p Place) Locate(given string) []Location {
	main, isURL := FileURL(given)
	path := p.Absolute(p.Expand(main))
	list := []Location{p.resolve(path, given)}
	first := &list[0]

	if path != "" && strings.Contains(main, "..") {
		// "link/.." is the folder of the link if the text is cleaned first, and the folder of its target for the
		// kernel.
		if l := p.resolve(p.AbsoluteRaw(p.Expand(main)), given); l.Real() != first.Real() {
			list = append(list, l)
		}
	}
	if isURL {
		first.add(p.Reading(given))
	} else if decoded := PercentDecoded(main); decoded != main {
		list = append(list, p.resolve(p.Absolute(p.Expand(decoded)), decoded))
	}
	if filepath.Separator == '/' && strings.ContainsRune(main, '\\') {
		slashes := strings.ReplaceAll(strings.TrimPrefix(main, `\\?\`), `\`, "/")
		if len(slashes) > 2 && slashes[1] == ':' && slashes[2] == '/' {
			slashes = slashes[2:]
		}
		list = append(list, p.resolve(p.Absolute(p.Expand(slashes)), slashes))
	}
	if trimmed := WindowsName(main); trimmed != main {
		first.add(p.Reading(trimmed))
	}
	if main != "" && (main[0] == '~' || main[0] == '$') {
		first.add(p.Reading("./" + main))
	}
	for _, other := range otherNormalForms(main) {
		first.add(p.Reading(other))
	}
	if !filepath.IsAbs(p.Expand(main)) {
		for _, root := range p.Roots {
			if root != p.Dir {
				l := Place{Dir: root, Roots: p.Roots, Home: p.Home}.resolve(filepath.Join(root, main), given)
				first.add(l)
			}
		}
	}
	return list
}

// Reading resolves text as a path without any of the other readings.
func (p Place) Reading(text string) Location { return p.resolve(p.Absolute(text), text) }

// add adds the forms and paths of another reading, for denies.
func (l *Location) add(other Location) {
	for _, form := range append([]permissions.Form{other.Decides}, other.Also...) {
		if !slices.ContainsFunc(l.Also, func(f permissions.Form) bool { return slices.Equal(f, form) }) {
			l.Also = append(l.Also, form)
		}
	}
	for _, path := range other.Paths {
		if !slices.Contains(l.Paths, path) {
			l.Paths = append(l.Paths, path)
		}
	}
}

// resolve finds where path leads. given is the text that it comes from: a further spelling for denies.
func (p Place) resolve(path, given string) Location {
	if !filepath.IsAbs(path) { // the place is unknown, so the text is all there is
		path = spelled(path)
		return Location{Decides: permissions.Form{path}, Paths: []string{path}}
	}
	real, links, err := RealPath(path)
	lexical := filepath.Clean(path)
	l := Location{Paths: []string{real}, Links: links, Err: err}
	l.Decides = p.Spellings(real, real != lexical)
	if real != lexical {
		l.Paths = append(l.Paths, lexical)
		l.Also = append(l.Also, p.Spellings(lexical, false))
	}
	if given != lexical && !slices.Contains(l.Decides, given) {
		// A form of its own beside the clean one: an allow for "x/*" that matches the spelling "x/../y" must
		// not hide a deny on y.
		l.Also = append(l.Also, append(p.Spellings(lexical, false), given))
	}
	return l
}

// Spellings returns the ways to write an absolute path that mean exactly the same: itself, relative to
// each workspace root, and below "~". moved says that links were resolved, so that roots may be links too.
func (p Place) Spellings(path string, moved bool) permissions.Form {
	form := make(permissions.Form, 1, 4)
	form[0] = path
	add := func(s string) {
		if !slices.Contains(form, s) {
			form = append(form, s)
		}
	}
	for _, root := range p.Bases() {
		if rel, ok := Within(root, path); ok {
			add(spelled(rel))
		} else if moved {
			if real, _, err := RealPath(root); err == nil {
				if rel, ok := Within(real, path); ok {
					add(spelled(rel))
					add(filepath.Join(root, rel))
				}
			}
		}
	}
	if s, ok := p.inOpenWorkspace(path); ok {
		add(s)
	}
	if p.Home != "" {
		if rel, ok := Within(p.Home, path); ok {
			add("~" + string(filepath.Separator) + rel)
		}
	}
	if filepath.Separator != '/' {
		for _, s := range form[:len(form):len(form)] {
			add(filepath.ToSlash(s))
		}
	}
	if caseInsensitive {
		for _, s := range form[:len(form):len(form)] {
			add(strings.ToLower(s))
		}
	}
	return form
}

// Bases returns the workspace roots, or the working directory if there are none.
func (p Place) Bases() []string {
	if len(p.Roots) == 0 && p.Dir != "" {
		return []string{p.Dir}
	}
	return p.Roots
}

// InWorkspace returns a real path relative to the innermost workspace root that holds it.
func (p Place) InWorkspace(path string) (root, rel string, ok bool) {
	try := func(candidate string) {
		if s, in := Within(candidate, path); in && (!ok || len(s) < len(rel)) {
			root, rel, ok = candidate, s, true
		}
	}
	for _, r := range p.Bases() {
		try(r)
	}
	if ok {
		return root, rel, ok
	}
	for _, r := range p.Bases() { // a root may be a link
		if real, _, err := RealPath(r); err == nil {
			try(real)
		}
	}
	return root, rel, ok
}

// Within returns path relative to folder; "." for the folder itself. Both are clean and absolute.
func Within(folder, path string) (rel string, ok bool) {
	folder = strings.TrimSuffix(folder, string(filepath.Separator))
	if !strings.HasPrefix(path, folder) {
		return "", false
	}
	rest := path[len(folder):]
	switch {
	case rest == "" || rest == string(filepath.Separator):
		return ".", true
	case rest[0] == filepath.Separator:
		return rest[1:], true
	}
	return "", false
}

// Absolute makes path absolute and clean. A relative path is relative to the working directory.
func (p Place) Absolute(path string) string { return Clean(p.AbsoluteRaw(path)) }

// AbsoluteRaw is Absolute without cleaning: ".." stays where it is.
func (p Place) AbsoluteRaw(path string) string {
	path = filepath.FromSlash(path)
	switch {
	case filepath.IsAbs(path) || p.Dir == "":
		return path
	case path != "" && path[0] == filepath.Separator: // on Windows: the root of the current volume
		return filepath.VolumeName(p.Dir) + path
	case path == "":
		return p.Dir
	}
	return p.Dir + string(filepath.Separator) + path
}

// Clean is filepath.Clean, except that "" stays "".
func Clean(path string) string {
	if path == "" {
		return ""
	}
	return filepath.Clean(path)
}

// Expand replaces a leading "~", or a leading variable for the home directory, by the home directory.
func (p Place) Expand(path string) string {
	if p.Home == "" || path == "" || path[0] != '~' && path[0] != '$' && path[0] != '%' {
		return path
	}
	for _, prefix := range []string{"~", "$HOME", "${HOME}", "%USERPROFILE%", "%HOME%", "$env:USERPROFILE"} {
		if rest, ok := strings.CutPrefix(path, prefix); ok && (rest == "" || rest[0] == '/' || rest[0] == filepath.Separator) {
			return p.Home + rest
		}
	}
	return path
}

// FileURL returns the path of a "file:" URL, and given itself if it is not one.
func FileURL(given string) (path string, ok bool) {
	if len(given) < 5 || !strings.EqualFold(given[:5], "file:") {
		return given, false
	}
	u, err := url.Parse(given)
	if err != nil {
		return given, false
	}
	path = u.Path
	if path == "" {
		path, err = url.PathUnescape(u.Opaque)
		if err != nil {
			path = u.Opaque
		}
	}
	if u.Host != "" && !strings.EqualFold(u.Host, "localhost") {
		path = "//" + u.Host + path
	}
	if filepath.Separator == '\\' && len(path) > 2 && path[0] == '/' && path[2] == ':' {
		path = path[1:]
	}
	return path, true
}

// PercentDecoded decodes percent escapes up to four times, because some servers decode more than once.
func PercentDecoded(path string) string {
	for range 4 {
		if !strings.ContainsRune(path, '%') {
			break
		}
		decoded := decodeOnce(path)
		if decoded == path {
			break
		}
		path = decoded
	}
	return path
}

// decodeOnce decodes the valid percent escapes of path and keeps the rest.
func decodeOnce(path string) string {
	out := make([]byte, 0, len(path))
	for i := 0; i < len(path); i++ {
		if path[i] == '%' && i+2 < len(path) {
			hi, lo := hexDigit(path[i+1]), hexDigit(path[i+2])
			if hi >= 0 && lo >= 0 {
				out = append(out, byte(hi<<4|lo))
				i += 2
				continue
			}
		}
		out = append(out, path[i])
	}
	return string(out)
}

func hexDigit(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

// WindowsName returns path as Windows reads it: without a "\\?\" prefix, and in every part without an
// alternate stream (".env::$DATA") and without trailing dots and spaces.
func WindowsName(path string) string {
	trimmed := strings.TrimPrefix(strings.TrimPrefix(path, `\\?\`), `\\.\`)
	start := 0
	if len(trimmed) > 1 && trimmed[1] == ':' {
		start = 2 // a drive letter
	}
	if !strings.ContainsAny(trimmed[start:], ":") && !strings.HasSuffix(trimmed, ".") && !strings.HasSuffix(trimmed, " ") &&
		!strings.Contains(trimmed, "./") && !strings.Contains(trimmed, " /") && !strings.Contains(trimmed, `.\`) && !strings.Contains(trimmed, ` \`) {
		return trimmed
	}
	var b strings.Builder
	b.WriteString(trimmed[:start])
	for i := start; i < len(trimmed); {
		end := i + strings.IndexAny(trimmed[i:], `/\`)
		if end < i {
			end = len(trimmed)
		}
		part := trimmed[i:end]
		if part != "." && part != ".." {
			part, _, _ = strings.Cut(part, ":")
			part = strings.TrimRight(part, ". ")
		}
		b.WriteString(part)
		if end < len(trimmed) {
			b.WriteByte(trimmed[end])
			end++
		}
		i = end
	}
	return b.String()
}

// otherNormalForms returns path in the Unicode normal forms that it is not in, and without the characters
// that some file systems ignore in names.
func otherNormalForms(path string) (forms []string) {
	if wording.IsASCII(path) {
		return nil
	}
	for _, s := range []string{norm.NFC.String(path), norm.NFD.String(path), norm.NFKC.String(path), wording.WithoutIgnored(path)} {
		if s != path && !slices.Contains(forms, s) {
			forms = append(forms, s)
		}
	}
	return forms
}
