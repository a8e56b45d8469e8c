package tools

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"callgate/gate/tools/internal/commands"
	"callgate/gate/tools/internal/listing"
	"callgate/gate/tools/internal/wording"
	"callgate/gate/tools/workspace"
	"callgate/permissions"
	"callgate/shellparse"
	"callgate/shellparse/programs"
)

// lists makes the subjects of the files that the command writes because a patch or an archive names them. If it cannot
// tell the names, it returns that as an effect of the command. all holds the commands of the text.
func (b *toucher) lists(c *shellparse.Command, all []shellparse.Command) (effect string) {
	for i := range c.Lists {
		l := &c.Lists[i]
		names, err := b.namesIn(c, l, all)
		if err != nil || len(l.Dirs) == 0 {
			from := cmp.Or(l.From.Path.Value, "its input")
			effect = joinEffects(effect, "writes the files that "+wording.Quote(from)+" names")
			for _, dir := range l.Dirs {
				b.shellWrite(shellparse.File{Path: shellparse.Word{Value: dir, Known: true}, By: c.Argv[0].Value}, true)
			}
			continue
		}
		for _, dir := range l.Dirs {
			if l.Top {
				dir = b.top(dir)
			}
			for _, name := range names {
				if name = listing.Stripped(name, l.Strip); name != "" && b.record.count() {
					b.shellWrite(shellparse.File{Path: shellparse.Word{Value: filepath.Join(dir, filepath.FromSlash(name)), Known: true}, By: c.Argv[0].Value}, false)
				}
			}
		}
	}
	return effect
}

// top returns the top of the repository that dir lies in, or dir if it lies in none.
func (b *toucher) top(dir string) string {
	at := b.record.place.At(dir).Dir
	for d := at; ; d = filepath.Dir(d) {
		if _, err := os.Lstat(filepath.Join(d, ".git")); err == nil {
			return d
		}
		if d == filepath.Dir(d) {
			return at
		}
	}
}

// namesIn returns the names in a patch or an archive, unless another command of the text may change it before.
func (b *toucher) namesIn(c *shellparse.Command, l *shellparse.Listing, all []shellparse.Command) ([]string, error) {
	if l.From.Path.Value == "" {
		if l.Text == "" || l.Format != "patch" {
			return nil, listing.Err
		}
		return listing.PatchNames(strings.NewReader(l.Text))
	}
	if !l.From.Path.Known || b.record.tool.remote || b.record.place.Dir == "" {
		return nil, listing.Err
	}
	file := b.record.place.Absolute(l.From.Path.Value)
	for i := range all {
		if o := &all[i]; o != c && mayChange(o, l.From.Path.Value) {
			return nil, listing.Err
		}
	}
	return listing.Names(file, l.Format)
}

// onlyComputes reports whether a command runs code that is known, and has no other effect.
func onlyComputes(c *shellparse.Command) bool {
	return c.Computes && !slices.ContainsFunc(c.Effects, func(e shellparse.Effect) bool { return !strings.HasPrefix(e.Text, "code ") })
}

// mayChange reports whether a command may write the file at path, under any name that links give it, as far as the
// class of the command tells.
func mayChange(c *shellparse.Command, path string) bool {
	risk, _, _ := commands.Classify(c)
	if !onlyComputes(c) && (risk.Exceeds(permissions.Write) || risk == permissions.BuildTest || len(c.Effects) > 0 || len(c.Lists) > 0 ||
		risk == permissions.Write && commands.Known(c.Argv[0].Value).Has(programs.VersionControl)) {
		return true
	}
	return slices.ContainsFunc(c.Writes, func(f shellparse.File) bool {
		return !f.Path.Known || f.By != "mkdir" && workspace.Holds(f.Path.Value, path)
	})
}
