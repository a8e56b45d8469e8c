package store

import (
	"bytes"
	"slices"

	"github.com/tailscale/hujson"
)

// insertMember inserts a member at index i of the object, laid out like the members around it. Comments stay beside or
// above the same members.
func insertMember(object *hujson.Object, i int, name string, value hujson.ValueTrimmed, indent string) {
	member := hujson.ObjectMember{
		Name:  hujson.Value{Value: hujson.String(name)},
		Value: hujson.Value{BeforeExtra: hujson.Extra(" "), Value: value},
	}
	last := i == len(object.Members)
	next := &object.AfterExtra
	if !last {
		next = &object.Members[i].Name.BeforeExtra
	} else if i > 0 {
		// A comma after the last member moves to the new one.
		member.Value.AfterExtra = trailing(object.Members[i-1].Value.AfterExtra)
	}
	own, broken := layout(object)
	if own != "" {
		indent = own
	}
	switch {
	case !broken && last && i == 0:
		member.Name.BeforeExtra = slices.Concat(*next, []byte(" "))
		*next = hujson.Extra(" ")
	case !broken && last:
		member.Name.BeforeExtra = slices.Concat(bytes.TrimRight(*next, " "), []byte(" "))
	case !broken:
		member.Name.BeforeExtra = *next
		*next = hujson.Extra(" ")
	case last:
		closing := lineIndent(*next)
		member.Name.BeforeExtra = breakLine(*next, indent)
		*next = hujson.Extra("\n" + closing)
	default:
		beside, rest := besideLine(*next)
		member.Name.BeforeExtra = slices.Concat(beside, []byte("\n"+indent))
		*next = rest
	}
	object.Members = slices.Insert(object.Members, i, member)
}

// removeMember removes the member at index i, with the comment after it on its line. Comments above it stay.
func removeMember(object *hujson.Object, i int) {
	gone := object.Members[i]
	last := i == len(object.Members)-1
	object.Members = slices.Delete(object.Members, i, i+1)
	next := &object.AfterExtra
	if !last {
		next = &object.Members[i].Name.BeforeExtra
	}
	beside, above := besideLine(gone.Name.BeforeExtra)
	_, rest := besideLine(*next)
	if hujson.Extra(above).IsStandard() {
		above = nil
	} else {
		above = bytes.TrimRight(above, " \t\r\n")
	}
	if last && i > 0 {
		// A comma after the removed last member moves to the member before it.
		before := &object.Members[i-1].Value
		if !before.AfterExtra.IsStandard() {
			beside = slices.Concat(before.AfterExtra, beside)
		}
		before.AfterExtra = trailing(gone.Value.AfterExtra)
	}
	*next = slices.Concat(beside, above, rest)
}

// layout reports whether the members are on separate lines (broken), and how far they are indented. An object without
// members is laid out like its comments.
func layout(object *hujson.Object) (indent string, broken bool) {
	if n := len(object.Members); n > 0 {
		if before := object.Members[n-1].Name.BeforeExtra; bytes.Contains(before, []byte("\n")) {
			return lineIndent(before), true
		}
	}
	return "", bytes.Contains(object.AfterExtra, []byte("\n"))
}

// lineIndent returns the white space after the last line break.
func lineIndent(extra hujson.Extra) string {
	line := extra[bytes.LastIndexByte(extra, '\n')+1:]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// besideLine splits the text between two members into beside, which ends the line of the first member with a comment,
// and rest, which begins with the line break.
func besideLine(extra hujson.Extra) (beside, rest hujson.Extra) {
	i := bytes.IndexByte(extra, '\n')
	if i < 0 {
		return nil, extra
	}
	beside = bytes.TrimRight(extra[:i], " \t\r")
	if text := bytes.TrimLeft(beside, " \t"); len(text) > 0 && !bytes.HasPrefix(text, []byte("//")) &&
		!(hujson.Extra(beside).IsValid()) {
		return nil, extra // a comment that continues on the next line
	}
	return slices.Clip(beside), slices.Clone(extra[i:])
}
