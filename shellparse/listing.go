package shellparse

import (
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"callgate/shellparse/programs"
)

// Listing is data that says which files a command writes: a patch or an archive. A caller that cannot read the names
// there MUST NOT assume that the command writes only what its words name.
type Listing struct {
	Format string   // "patch", "tar", or "zip"
	From   File     // where the data lies; its Path is empty for Text, and for data that nobody can look at
	Text   string   // the data itself, when From is empty and the command line holds it
	Dirs   []string // where the names lead from, like File.Path; none when that is not known
	Top    bool     // they lead from the top of the repository that Dirs are in
	Strip  int      // how many leading elements of each name are left out; -1 for all but the last
}

// listing notes that the command writes what data names.
func (a *analysis) listing(c *call, l Listing, from word) {
	var files []File
	switch {
	case from.text != "" && from.text != "-":
		at := *c.sc
		if l.Format == "tar" {
			at.dirs = c.began // -C is for the members
		}
		files = a.file(nil, from, c.name, &at)
	case c.sc.input.kind == inputFile:
		for _, f := range c.reads {
			if f.By == "redirect" {
				files = append(files, f)
			}
		}
	case c.sc.input.kind == inputText && c.sc.input.text.known, c.sc.input.kind == inputPipe && c.sc.input.text.known:
		l.Text = c.sc.input.text.text
	}
	if len(files) == 0 {
		files = []File{{}}
	}
	if !c.sc.lost && l.Dirs == nil {
		l.Dirs = c.sc.dirs
	}
	for _, f := range files {
		l.From = f
		c.lists = append(c.lists, l)
	}
}

// number is the value of an option that is a number, or what stands for none.
func (s *scanned) number(none int, names ...string) int {
	v, ok := s.find(names...)
	if !ok {
		return none
	}
	n, err := strconv.Atoi(v.text)
	if err != nil || n < 0 || !v.known {
		return none
	}
	return n
}

// onlyShows are words with which git apply and patch change nothing.
var onlyShows = set("--check --stat --numstat --summary --dry-run -C --show-current-patch --continue --resolved -r --skip --abort --quit --version --help")

// gitApply notes the patches that git apply and git am read.
func (a *analysis) gitApply(c *call, s *scanned) {
	shows := false
	for _, w := range c.argv[2:] {
		if w.known && w.text == "--apply" {
			shows = false
			break
		}
		name, _, _ := strings.Cut(w.text, "=")
		shows = shows || w.known && onlyShows[name] && name != "-C"
	}
	if shows {
		return
	}
	if _, ok := s.find("--directory"); ok {
		c.effect("option --directory")
	}
	l := Listing{Format: "patch", Strip: s.number(1, "-p"), Top: c.argv[1].text == "am"}
	for _, w := range s.operands {
		a.listing(c, l, w)
	}
	if len(s.operands) == 0 {
		a.listing(c, l, word{})
	}
}

// inspectPatch notes the patch that patch reads, and the files that its words name.
func inspectPatch(a *analysis, c *call, s *scanned) {
	if _, dry := s.find("--dry-run"); dry {
		c.writes = slices.DeleteFunc(c.writes, func(f File) bool { return f.By == c.name })
		return
	}
	from, _ := s.find("-i", "--input")
	if len(s.operands) > 1 {
		from = s.operands[1]
	}
	if _, ok := s.find("-o", "--output"); ok && len(s.operands) > 0 {
		return
	}
	strip := s.number(-1, "-p", "--strip")
	a.listing(c, Listing{Format: "patch", Strip: strip}, from)
	if strip < 0 {
		a.listing(c, Listing{Format: "patch"}, from) // it tries the whole name as well
	}
}

// fetched notes a file that is named by the last part of an address: as it stands there, and as it is meant.
func (a *analysis) fetched(c *call, s *scanned, address word, options ...string) {
	dir, given := s.find(options...)
	text := address.text
	if i := strings.IndexAny(text, "?#"); i >= 0 && c.name == "curl" {
		text = text[:i]
	}
	names := []string{path.Base(strings.TrimRight(text, "/"))}
	if strings.HasSuffix(text, "/") || strings.Count(text, "/") == 2 && strings.Contains(text, "://") {
		names = append(names, "index.html")
	}
	if plain, err := url.PathUnescape(names[0]); err == nil && plain != names[0] {
		names = append(names, plain)
	}
	for _, n := range names {
		a.writes(c, word{text: path.Join(dir.text, n), known: address.known && (!given || dir.known)})
	}
}

// elsewhereName says that an operand of a transfer is in another place.
func elsewhereName(text string) bool {
	before, _, ok := strings.Cut(text, ":")
	return ok && (strings.Contains(text, "://") || before != "" && !strings.ContainsAny(before, "/.~"))
}

// inspectTransfer notes what a transfer sends and writes.
func inspectTransfer(a *analysis, c *call, _ *scanned) {
	n, options := 0, (*optset)(nil)
	name := []string{c.name}
	for i := 1; i < len(c.argv) && i < 6 && c.argv[i].known; i++ {
		if strings.HasPrefix(c.argv[i].text, "-") {
			break
		}
		name = append(name, c.argv[i].text)
		if o := programs.Find(name...).Transfer; o != nil {
			n, options = i+1, (*optset)(o)
		}
	}
	if options == nil {
		return
	}
	s := options.scan(c.argv[n:], programs.GNU)
	ops := s.operands
	for _, h := range s.hits {
		if h.opt.Does != 'r' || !h.has {
			a.apply(h, c)
			continue
		}
		if slices.ContainsFunc(name, func(w string) bool { return strings.Contains(w, "download") }) || name[len(name)-1] == "get" {
			a.writes(c, h.value)
		} else {
			a.reads(c, h.value)
			c.operates("sends " + h.value.text)
		}
	}
	a.transfers(c, ops)
}

// transfers notes the operands of a transfer: those that name a place elsewhere, and the files here.
func (a *analysis) transfers(c *call, ops []word) {
	for i, w := range ops {
		switch {
		case w.known && elsewhereName(w.text):
		case !w.known && w.head != "" && elsewhereName(w.head):
		case i == len(ops)-1 && i > 0:
			a.writes(c, w)
			for _, source := range ops[:i] {
				if base := path.Base(source.text); source.known && w.known && base != "." && base != "/" && elsewhereName(source.text) {
					a.writes(c, lit(path.Join(w.text, base)))
				}
			}
		default:
			a.reads(c, w)
			c.operates("sends " + w.text)
		}
	}
}

// awsWrites reports whether a command of aws writes the file that its operand names.
func awsWrites(service, operation string) bool {
	switch service + " " + operation {
	case "lambda invoke", "glacier get-job-output", "polly synthesize-speech":
		return true
	case "s3api get-object-attributes", "s3api get-object-tagging", "s3api get-object-acl":
		return false
	}
	return service == "s3api" && hasPrefix(operation, "get-object", "select-object")
}

// awsFiles notes what commands of aws besides s3 write and send: get-object names its file by its operand, and
// arguments that begin with file:// or fileb:// are read.
func awsFiles(a *analysis, c *call) {
	if len(c.argv) < 3 {
		return
	}
	service, operation := c.argv[1].text, c.argv[2].text
	for i, w := range c.argv[3:] {
		_, value, attached := strings.Cut(w.text, "=")
		if !attached {
			value = w.text
		}
		for _, scheme := range []string{"fileb://", "file://"} {
			if p, ok := strings.CutPrefix(value, scheme); ok {
				a.reads(c, word{text: p, known: w.known, head: p})
			}
		}
		before := c.argv[i+2]
		switch {
		case (operation == "put-object" || operation == "upload-part" || operation == "upload-archive") && before.known && before.text == "--body":
			a.reads(c, w)
			c.operates("sends " + w.text)
		case awsWrites(service, operation):
			if !strings.HasPrefix(w.text, "-") && (strings.Contains(before.text, "=") || !strings.HasPrefix(before.text, "--") || strings.HasPrefix(before.text, "--no-")) {
				a.writes(c, w)
			}
		}
	}
}

func inspectAWS(a *analysis, c *call, s *scanned) {
	c.showsSetting()
	inspectTransfer(a, c, s)
	awsFiles(a, c)
}
