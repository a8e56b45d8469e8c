package tools

import (
	"os"
	"slices"
	"strings"

	"callgate/shellparse"
	"callgate/shellparse/programs"
)

// recursiveReaders are programs that read folders whole; with options, only with one of these.
var recursiveReaders = func() map[string]map[string]bool {
	greps := wordSet("-r -R -d --recursive --dereference-recursive --directories")
	table := map[string]map[string]bool{
		"zip": wordSet("-r --recurse-paths"), "cp": wordSet("-r -R -a --recursive --archive"), "scp": wordSet("-r"),
	}
	for name := range strings.FieldsSeq("grep egrep fgrep zgrep zegrep zfgrep bzgrep xzgrep lzgrep zstdgrep pcregrep pcre2grep ggrep") {
		table[name] = greps
	}
	for name := range strings.FieldsSeq("aws gcloud gsutil az rclone s3cmd s5cmd mc mcli azcopy b2 oci swift ibmcloud ossutil coscli obsutil surge vercel netlify firebase sftp lftp croc wormhole") {
		table[name] = nil // they send folders
	}
	for name := range strings.FieldsSeq("rg rga ag ack ugrep ug pt sift tar gtar bsdtar rsync mv diff gdiff colordiff difft") {
		table[name] = nil
	}
	return table
}()

// readsRecursively reports whether a command reads folders whole.
func readsRecursively(c *shellparse.Command) bool {
	if len(c.Argv) > 2 && c.Argv[1].Value == "cp" {
		switch c.Argv[0].Value {
		case "docker", "podman", "nerdctl", "kubectl", "oc":
			return true
		}
	}
	options, ok := recursiveReaders[c.Argv[0].Value]
	if c.Argv[0].Value == "git" {
		return len(c.Argv) > 1 && (c.Argv[1].Value == "grep" || (c.Argv[1].Value == "add" || c.Argv[1].Value == "stage") &&
			slices.ContainsFunc(c.Argv[2:], func(w shellparse.Word) bool { return matchesWord("-f", w.Value) || matchesWord("--force", w.Value) }))
	}
	if !ok || options == nil {
		return ok
	}
	for _, w := range c.Argv[1:] {
		for option := range options {
			if matchesWord(option, w.Value) {
				return true
			}
		}
	}
	return false
}

// recursive notes the folders that a command reads whole.
func (b *builder) recursive(c *shellparse.Command) {
	if b.tool.remote || len(c.Argv) == 0 || b.place.Dir == "" {
		return
	}
	words := c.Argv[1:]
	if !readsRecursively(c) {
		if len(c.Via) == 0 || !strings.HasPrefix(c.Via[len(c.Via)-1], "find ") {
			return
		}
		if slices.ContainsFunc(c.Reads, func(f shellparse.File) bool { return f.Pattern != "" }) {
			return // the files that find hands over are judged
		}
		words = nil // find hands over what lies below its own operands
		for w := range strings.FieldsSeq(strings.TrimPrefix(c.Via[len(c.Via)-1], "find ")) {
			words = append(words, shellparse.Word{Value: w, Known: true})
		}
	}
	if len(words) > maxArguments {
		b.readsBeneath(b.place.at(c.Dir).Dir)
		return
	}
	if c.Argv[0].Value == "git" && len(c.Argv) > 1 && c.Argv[1].Value == "grep" && readsTracked(c) {
		return // gitReads notes what the repository tracks
	}
	leaves := searchOf(c)
	if leaves != nil && len(leaves.operands) == 0 && leaves.stdin {
		return
	}
	found := slices.ContainsFunc(c.Reads, func(f shellparse.File) bool { return f.Pattern != "" })
	for _, w := range words {
		if !w.Known || strings.HasPrefix(w.Value, "-") {
			continue
		}
		path := b.place.at(c.Dir).absolute(b.place.expand(w.Value))
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			if real, _, err := realPath(path); err == nil {
				path = real
			}
			b.searches(path, leaves)
			found = true
		}
	}
	if leaves != nil && len(leaves.operands) > 0 {
		return // what it was given, and is no folder, it reads by name or not at all
	}
	if !found && known(c.Argv[0].Value).Has(programs.Searches) {
		b.searches(b.place.at(c.Dir).Dir, leaves)
	}
}
