package tools

import (
	"strings"

	"callgate/gate/tools/internal/wording"
	"callgate/gate/tools/kinds"
)

// patch makes the subjects of the files that the headers of a patch name. A patch with a line that is neither a header
// nor the content below one asks, because programs may read it differently.
func (b *builder) patch(text string) {
	unclear, updated := false, ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		for i, rest := range strings.FieldsFunc(line, endsLine) {
			unclear = unclear || i > 0 && strings.HasPrefix(strings.TrimSpace(rest), "***")
		}
		header, ok := strings.CutPrefix(strings.TrimSpace(line), "*** ")
		if !ok {
			unclear = unclear || line != "" && !strings.ContainsRune("+- @", rune(line[0]))
			continue
		}
		name, path, _ := strings.Cut(header, ": ")
		if path != strings.TrimSpace(path) {
			unclear = true
		}
		switch name {
		case "Begin Patch", "End Patch", "End of File":
		case "Add File":
			b.files.fileAs(KindWriteFile, kinds.WritePath, path)
		case "Update File":
			b.files.file(kinds.WritePath, path)
			updated = path
		case "Delete File":
			b.files.file(kinds.DeletePath, path)
		case "Move to":
			b.files.fileAs(KindWriteFile, kinds.WritePath, path)
			b.files.file(kinds.DeletePath, updated)
		default:
			unclear = true
		}
	}
	if unclear || !b.record.has(kinds.WritePath) && !b.record.has(kinds.DeletePath) {
		b.record.mark("unclear-patch", "callgate cannot tell which files the patch "+wording.Quote(text)+" changes.")
	}
}

// endsLine reports whether some programs begin a new line after a character, as Python's splitlines does.
func endsLine(r rune) bool {
	return r >= '\v' && r <= '\r' || r >= 0x1c && r <= 0x1e || r == 0x85 || r == 0x2028 || r == 0x2029
}
