package inspect

import (
	"net/url"
	"path"
	"slices"
	"strings"

	"callgate/shellparse/internal/walk"
	"callgate/shellparse/internal/word"
	"callgate/shellparse/programs"
	"callgate/shellparse/script"
)

// listing records that the command writes the files that data names.
func listing(a *walk.Walker, c *walk.Call, l script.Listing, from word.Word) {
	var files []script.File
	switch {
	case from.Text != "" && from.Text != "-":
		at := *c.Sc
		if l.Format == "tar" {
			at.Dirs = c.Began // -C applies to the members only
		}
		files = a.Words.File(nil, from, c.Name, &at)
	case c.Sc.Input.Kind == word.InputFile:
		for _, f := range c.Reads {
			if f.By == "redirect" {
				files = append(files, f)
			}
		}
	case c.Sc.Input.Kind == word.InputText && c.Sc.Input.Text.Known, c.Sc.Input.Kind == word.InputPipe && c.Sc.Input.Text.Known:
		l.Text = c.Sc.Input.Text.Text
	}
	if len(files) == 0 {
		files = []script.File{{}}
	}
	if !c.Sc.Lost && l.Dirs == nil {
		l.Dirs = c.Sc.Dirs
	}
	for _, f := range files {
		l.From = f
		c.Lists = append(c.Lists, l)
	}
}

// onlyShows lists options with which git apply and git am apply no patch from their words.
var onlyShows = word.Set("--check --stat --numstat --summary --dry-run -C --show-current-patch --continue --resolved -r --skip --abort --quit --version --help")

// gitApply records the patches that git apply and git am read.
func gitApply(a *walk.Walker, c *walk.Call, s *word.Scanned) {
	shows := false
	for _, w := range c.Argv[2:] {
		if w.Known && w.Text == "--apply" {
			shows = false
			break
		}
		name, _, _ := strings.Cut(w.Text, "=")
		shows = shows || w.Known && onlyShows[name] && name != "-C"
	}
	if shows {
		return
	}
	if _, ok := s.Find("--directory"); ok {
		c.Effect("option --directory")
	}
	l := script.Listing{Format: "patch", Strip: s.Number(1, "-p"), Top: c.Argv[1].Text == "am"}
	for _, w := range s.Operands {
		listing(a, c, l, w)
	}
	if len(s.Operands) == 0 {
		listing(a, c, l, word.Word{})
	}
}

// inspectPatch records the patch that patch reads, and the files that its words name.
func inspectPatch(a *walk.Walker, c *walk.Call, s *word.Scanned) {
	if _, dry := s.Find("--dry-run"); dry {
		c.Writes = slices.DeleteFunc(c.Writes, func(f script.File) bool { return f.By == c.Name })
		return
	}
	from, _ := s.Find("-i", "--input")
	if len(s.Operands) > 1 {
		from = s.Operands[1]
	}
	if _, ok := s.Find("-o", "--output"); ok && len(s.Operands) > 0 {
		return
	}
	strip := s.Number(-1, "-p", "--strip")
	listing(a, c, script.Listing{Format: "patch", Strip: strip}, from)
	if strip < 0 {
		listing(a, c, script.Listing{Format: "patch"}, from) // it also tries the whole name
	}
}

// fetched records a file named by the last part of an address, as written and percent-decoded.
func fetched(a *walk.Walker, c *walk.Call, s *word.Scanned, address word.Word, how *programs.Keeps) {
	dir, given := s.Find(how.Folder...)
	text := address.Text
	if i := strings.IndexAny(text, "?#"); i >= 0 && !how.Query {
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
		a.Writes(c, word.Word{Text: path.Join(dir.Text, n), Known: address.Known && (!given || dir.Known)})
	}
}

// elsewhereName reports whether an operand of a transfer is in another place.
func elsewhereName(text string) bool {
	before, _, ok := strings.Cut(text, ":")
	return ok && (strings.Contains(text, "://") || before != "" && !strings.ContainsAny(before, "/.~"))
}

// inspectTransfer records what a transfer sends and writes.
func inspectTransfer(a *walk.Walker, c *walk.Call, _ *word.Scanned) {
	n, options := 0, (*word.Options)(nil)
	name := []string{c.Name}
	for i := 1; i < len(c.Argv) && i < 6 && c.Argv[i].Known; i++ {
		if strings.HasPrefix(c.Argv[i].Text, "-") {
			break
		}
		name = append(name, c.Argv[i].Text)
		if o := programs.Find(name...).Transfer; o != nil {
			n, options = i+1, (*word.Options)(o)
		}
	}
	if options == nil {
		return
	}
	s := options.Scan(c.Argv[n:], programs.GNU)
	ops := s.Operands
	for _, h := range s.Hits {
		if h.Opt.Does != 'r' || !h.Has {
			apply(a, h, c)
			continue
		}
		if slices.ContainsFunc(name, func(w string) bool { return strings.Contains(w, "download") }) || name[len(name)-1] == "get" {
			a.Writes(c, h.Value)
		} else {
			a.Reads(c, h.Value)
			c.Operates("sends " + h.Value.Text)
		}
	}
	transfers(a, c, ops)
}

// transfers records the local files among the operands of a transfer.
func transfers(a *walk.Walker, c *walk.Call, ops []word.Word) {
	for i, w := range ops {
		switch {
		case w.Known && elsewhereName(w.Text):
		case !w.Known && w.Head != "" && elsewhereName(w.Head):
		case i == len(ops)-1 && i > 0:
			a.Writes(c, w)
			for _, source := range ops[:i] {
				if base := path.Base(source.Text); source.Known && w.Known && base != "." && base != "/" && elsewhereName(source.Text) {
					a.Writes(c, word.Lit(path.Join(w.Text, base)))
				}
			}
		default:
			a.Reads(c, w)
			c.Operates("sends " + w.Text)
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
	return service == "s3api" && word.HasPrefix(operation, "get-object", "select-object")
}

// awsFiles records what commands of aws other than s3 write and send. get-object names its file by its operand, and
// arguments that begin with file:// or fileb:// are read.
func awsFiles(a *walk.Walker, c *walk.Call) {
	if len(c.Argv) < 3 {
		return
	}
	service, operation := c.Argv[1].Text, c.Argv[2].Text
	for i, w := range c.Argv[3:] {
		_, value, attached := strings.Cut(w.Text, "=")
		if !attached {
			value = w.Text
		}
		for _, scheme := range []string{"fileb://", "file://"} {
			if p, ok := strings.CutPrefix(value, scheme); ok {
				a.Reads(c, word.Word{Text: p, Known: w.Known, Head: p})
			}
		}
		before := c.Argv[i+2]
		switch {
		case (operation == "put-object" || operation == "upload-part" || operation == "upload-archive") && before.Known && before.Text == "--body":
			a.Reads(c, w)
			c.Operates("sends " + w.Text)
		case awsWrites(service, operation):
			if !strings.HasPrefix(w.Text, "-") && (strings.Contains(before.Text, "=") || !strings.HasPrefix(before.Text, "--") || strings.HasPrefix(before.Text, "--no-")) {
				a.Writes(c, w)
			}
		}
	}
}

func inspectAWS(a *walk.Walker, c *walk.Call, s *word.Scanned) {
	showsSetting(c)
	inspectTransfer(a, c, s)
	awsFiles(a, c)
	for _, w := range c.Argv[1:] {
		if word.HasPrefix(w.Text, "--end", "--no-verify", "--ca-b") { // also abbreviated
			c.EffectAt("option "+w.Text, w)
		}
	}
}
