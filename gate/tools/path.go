package tools

import (
	"net/url"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"callgate/internal/visible"
	"callgate/permissions"
)

// location is one reading of a path argument: what it is in all spellings, and where it really leads.
type location struct {
	decides permissions.Form   // the real path, symbolic links resolved
	also    []permissions.Form // other ways to read the same text
	paths   []string           // absolute: the real path first, then every other way
	links   uint64             // hard links of the file, 0 when it does not exist or cannot be told
	err     error              // why the real path is not certain
}

// real is the path that the reading leads to, absolute where the place is known.
func (l *location) real() string { return l.paths[0] }

// caseInsensitive says that names that differ only in case are one file.
const caseInsensitive = runtime.GOOS == "darwin" || runtime.GOOS == "windows"

// locate reads a path argument. The first location is the plain reading; the others are readings that some
// servers take and others do not: percent escapes decoded, backslashes as separators, ".." after a symbolic
// link. Only a path whose every location is allowed is allowed, since nobody can tell which one is opened.
// Readings that no careful server takes add forms for denies alone.
func (p Place) locate(given string) []location {
	main, isURL := fileURL(given)
	path := p.absolute(p.expand(main))
	list := []location{p.resolve(path, given)}
	first := &list[0]

	if path != "" && strings.Contains(main, "..") {
		// "link/.." is the folder of the link for who cleans the text first, of its target for the kernel.
		if l := p.resolve(p.absoluteRaw(p.expand(main)), given); l.real() != first.real() {
			list = append(list, l)
		}
	}
	if isURL {
		first.add(p.reading(given))
	} else if decoded := percentDecoded(main); decoded != main {
		list = append(list, p.resolve(p.absolute(p.expand(decoded)), decoded))
	}
	if filepath.Separator == '/' && strings.ContainsRune(main, '\\') {
		slashes := strings.ReplaceAll(strings.TrimPrefix(main, `\\?\`), `\`, "/")
		if len(slashes) > 2 && slashes[1] == ':' && slashes[2] == '/' {
			slashes = slashes[2:]
		}
		list = append(list, p.resolve(p.absolute(p.expand(slashes)), slashes))
	}
	if trimmed := windowsName(main); trimmed != main {
		first.add(p.reading(trimmed))
	}
	if main != "" && (main[0] == '~' || main[0] == '$') {
		first.add(p.reading("./" + main))
	}
	for _, other := range otherNormalForms(main) {
		first.add(p.reading(other))
	}
	if !filepath.IsAbs(p.expand(main)) {
		for _, root := range p.Roots {
			if root != p.Dir {
				l := Place{Dir: root, Roots: p.Roots, Home: p.Home}.resolve(filepath.Join(root, main), given)
				first.add(l)
			}
		}
	}
	return list
}

// reading resolves text as a path without any of the other readings.
func (p Place) reading(text string) location { return p.resolve(p.absolute(text), text) }

// add takes the forms and paths of another reading for denies.
func (l *location) add(other location) {
	for _, form := range append([]permissions.Form{other.decides}, other.also...) {
		if !slices.ContainsFunc(l.also, func(f permissions.Form) bool { return slices.Equal(f, form) }) {
			l.also = append(l.also, form)
		}
	}
	for _, path := range other.paths {
		if !slices.Contains(l.paths, path) {
			l.paths = append(l.paths, path)
		}
	}
}

// resolve finds where path leads. given is the text that it comes from: a further spelling for denies.
func (p Place) resolve(path, given string) location {
	if !filepath.IsAbs(path) { // nobody knows where the call runs: the text is all there is
		path = spelled(path)
		return location{decides: permissions.Form{path}, paths: []string{path}}
	}
	real, links, err := realPath(path)
	lexical := filepath.Clean(path)
	l := location{paths: []string{real}, links: links, err: err}
	l.decides = p.spellings(real, real != lexical)
	if real != lexical {
		l.paths = append(l.paths, lexical)
		l.also = append(l.also, p.spellings(lexical, false))
	}
	if given != lexical && !slices.Contains(l.decides, given) {
		// A form of its own beside the clean one: an allow for "x/*" that matches the spelling "x/../y" must
		// not hide a deny on y.
		l.also = append(l.also, append(p.spellings(lexical, false), given))
	}
	return l
}

// spellings returns the ways to write an absolute path that mean exactly the same: itself, relative to
// each workspace root, and below "~". moved says that links were resolved, so that roots may be links too.
func (p Place) spellings(path string, moved bool) permissions.Form {
	form := make(permissions.Form, 1, 4)
	form[0] = path
	add := func(s string) {
		if !slices.Contains(form, s) {
			form = append(form, s)
		}
	}
	for _, root := range p.roots() {
		if rel, ok := within(root, path); ok {
			add(spelled(rel))
		} else if moved {
			if real, _, err := realPath(root); err == nil {
				if rel, ok := within(real, path); ok {
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
		if rel, ok := within(p.Home, path); ok {
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

// roots returns the workspace roots, the working directory when there are none.
func (p Place) roots() []string {
	if len(p.Roots) == 0 && p.Dir != "" {
		return []string{p.Dir}
	}
	return p.Roots
}

// inWorkspace returns a real path relative to the innermost workspace root that holds it.
func (p Place) inWorkspace(path string) (root, rel string, ok bool) {
	try := func(candidate string) {
		if s, in := within(candidate, path); in && (!ok || len(s) < len(rel)) {
			root, rel, ok = candidate, s, true
		}
	}
	for _, r := range p.roots() {
		try(r)
	}
	if ok {
		return root, rel, ok
	}
	for _, r := range p.roots() { // a root may be a link
		if real, _, err := realPath(r); err == nil {
			try(real)
		}
	}
	return root, rel, ok
}

// within returns path relative to folder; "." for the folder itself. Both are clean and absolute.
func within(folder, path string) (rel string, ok bool) {
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

// absolute makes path absolute and clean; relative ones are relative to the working directory.
func (p Place) absolute(path string) string { return clean(p.absoluteRaw(path)) }

// absoluteRaw is absolute without cleaning: ".." stays where it is.
func (p Place) absoluteRaw(path string) string {
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

func clean(path string) string {
	if path == "" {
		return ""
	}
	return filepath.Clean(path)
}

// expand replaces a leading "~" and the ways to write the home directory's variable.
func (p Place) expand(path string) string {
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

// fileURL returns the path of a "file:" URL, and given itself if it is not one.
func fileURL(given string) (path string, ok bool) {
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

// percentDecoded decodes percent escapes until none is left: what is decoded twice is read twice.
func percentDecoded(path string) string {
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

// windowsName returns path as Windows reads it: without a "\\?\" prefix, and in every part without an
// alternate stream (".env::$DATA") and without trailing dots and spaces.
func windowsName(path string) string {
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
	if isASCII(path) {
		return nil
	}
	for _, s := range []string{norm.NFC.String(path), norm.NFD.String(path), norm.NFKC.String(path), withoutIgnored(path)} {
		if s != path && !slices.Contains(forms, s) {
			forms = append(forms, s)
		}
	}
	return forms
}

// withoutIgnored drops format characters and others that show as nothing.
func withoutIgnored(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 0x80 && !visible.Rune(r) {
			return -1
		}
		return r
	}, s)
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}
