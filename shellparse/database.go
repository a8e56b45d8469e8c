package shellparse

import "regexp"

// inspectSQL notes the commands of database clients that leave the database.
func inspectSQL(_ *analysis, c *call, s *scanned) {
	texts := s.codes()
	if c.name == "sqlite3" && len(s.operands) > 1 {
		texts = append(texts, s.operands[1:]...)
	}
	for _, w := range texts {
		if !w.known || sqlReachesOut(w.text) {
			c.effect("code " + w.text)
		}
	}
	if in := c.sc.input; in.kind != inputNone && !(in.kind == inputText && in.text.known && !sqlReachesOut(in.text.text)) {
		c.effect("runs its standard input")
	}
}

// sqlReach are statements and client commands that reach files, programs or code.
var sqlReach = regexp.MustCompile(`(?i)\\|\bprogram\b|\bcopy\b|into\s+(out|dump)file|\bload(_\w+|\s+(data|xml))|\bpg_(read|ls|stat_file)|\blo_\w+|(^|;|\n)\s*(system|source)\b|\b(read|write)file\s*\(|\battach\b|create\s+(or\s+replace\s+)?(function|procedure|trigger|language|event)|\bextension\b|\bedit\s*\(|fts3_tokenizer|(^|\n)\s*\.|\bdo\s+(\$|')|\bdblink|file_fdw`)

func sqlReachesOut(s string) bool { return sqlReach.MatchString(s) }
