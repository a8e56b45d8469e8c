package rulebook

import (
	"path/filepath"
)

// maxField limits what is shown of one value, in runes.
const maxField = 160

// place returns where a rule or case stands, without its folder.
func place(source string) string { return filepath.Base(source) }
