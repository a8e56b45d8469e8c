package tools

import (
	"strings"

	"callgate/permissions"
)

// sqlWordRisk says what a word of a statement may do. A statement is as bad as its worst word, wherever it
// stands: `EXPLAIN ANALYZE DELETE …` deletes.
var sqlWordRisk = func() map[string]permissions.Risk {
	table := map[string]permissions.Risk{}
	for risk, words := range map[permissions.Risk]string{
		permissions.Write: `insert update create alter merge replace upsert rename comment into grant revoke begin commit rollback
			savepoint release start lock set reset analyze reindex refresh cluster`,
		permissions.Destructive: "delete drop truncate purge shutdown kill",
		permissions.Unknown: `copy call exec execute do load attach detach pragma vacuum handler outfile dumpfile prepare deallocate import export
			install uninstall checkpoint listen notify declare backup restore use optimize`,
	} {
		for w := range strings.FieldsSeq(words) {
			table[w] = risk
		}
	}
	return table
}()

// sqlReads are the words that a statement which only reads begins with.
var sqlReads = wordSet("select with show explain describe desc values table from")

// sqlUnsafeFunctions are prefixes of functions that do more than read.
var sqlUnsafeFunctions = []string{"pg_", "lo_", "dblink", "xp_", "sp_", "load_", "sys_", "readfile", "writefile", "edit", "sleep", "benchmark",
	"nextval", "setval", "query_to", "database_to", "cursor_to", "openrowset", "opendatasource", "utl_", "dbms_"}

// classifySQL says what statements may do. Text that databases read differently is Unknown.
func classifySQL(text string) permissions.Risk {
	risk, first, found := permissions.ReadOnly, true, false
	for i := 0; i < len(text); {
		c := text[i]
		switch {
		case c == ';':
			first = true
			i++
		case c == '\'' || c == '"' || c == '`':
			end := strings.IndexByte(text[i+1:], c)
			if end < 0 || strings.ContainsRune(text[i+1:i+1+end], '\\') {
				return risk.Worse(permissions.Unknown) // some databases take the backslash as an escape
			}
			i += end + 2
		case strings.HasPrefix(text[i:], "--") || c == '#':
			// A comment to some, an operator to others: what follows counts either way.
			i++
		case strings.HasPrefix(text[i:], "/*"):
			end := strings.Index(text[i+2:], "*/")
			if end < 0 || strings.HasPrefix(text[i+2:], "!") || strings.HasPrefix(text[i+2:], "M!") || strings.Contains(text[i+2:i+2+end], "/*") {
				return risk.Worse(permissions.Unknown)
			}
			i += end + 4
		case isWordByte(c):
			start := i
			for i < len(text) && (isWordByte(text[i]) || '0' <= text[i] && text[i] <= '9') {
				i++
			}
			word := strings.ToLower(text[start:i])
			if first && !sqlReads[word] && sqlWordRisk[word] == permissions.Unknown {
				risk = risk.Worse(permissions.Unknown)
			}
			first, found = false, true
			if r, ok := sqlWordRisk[word]; ok {
				risk = risk.Worse(r)
			}
			if strings.HasPrefix(strings.TrimLeft(text[i:], " \t\n"), "(") {
				for _, prefix := range sqlUnsafeFunctions {
					if strings.HasPrefix(word, prefix) {
						risk = risk.Worse(permissions.Unknown)
					}
				}
			}
		case c == '$' || c == '\\' || c >= 0x80:
			risk = risk.Worse(permissions.Unknown) // dollar quotes, client commands, look-alike letters
			i++
		default:
			i++
		}
	}
	if !found {
		return permissions.Unknown
	}
	return risk
}

func isWordByte(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' }
