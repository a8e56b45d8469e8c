package parse

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"callgate/internal/lazyregexp"
	"callgate/shellparse/internal/findings"
)

// cmdlet matches a PowerShell command name: an approved verb, a dash, a noun. hasCapital checks the noun's capital.
var cmdlet = lazyregexp.New(`(?i)(^\s*|[|;&({=\n]\s*)(get|set|new|remove|invoke|start|stop|write|read|out|import|export|test|select|where|foreach|add|clear|copy|move|rename|convertto|convertfrom|join|split|resolve|measure|sort|format|update|install|uninstall|register|unregister|enable|disable|restart|wait|push|pop|expand|compress)-[A-Z][A-Za-z]+\b`)

// batch matches text that only cmd.exe understands.
var batch = lazyregexp.New(`(?im)(^\s*|[&|(]\s*)(@echo\s+(off|on)\b|rem\s+[\w"'.:@#]|setlocal\b|endlocal\b|if\s+(not\s+)?(exist|errorlevel|defined)\s|for\s+/[dflr]\s|goto\s+:|call\s+:|del\s+/[a-z]\b|rd\s+/[a-z]\b|rmdir\s+/[a-z]\b|copy\s+/[a-z]\b|dir\s+/[a-z]\b|reg\s+(add|delete|query)\s+"?hk|start\s+/[a-z]+\b|taskkill\s+/|attrib\s+[+-][a-z]\b|icacls\s|schtasks\s+/)|%(comspec|systemroot|windir|userprofile|appdata|localappdata|programfiles|temp|username|cd|errorlevel|path)%|%~[a-z]*[0-9]`)

// psSyntax matches PowerShell that a POSIX shell parses as something else.
var psSyntax = lazyregexp.New(`(?i)\$env:[a-z_]\w*|\[(system|net|io|text|convert|environment|diagnostics)[.\w]*\]::|\biex(\s*\(|\s+([^-\s]|-[^-]|$))|(^|[;|&\s])powershell(\.exe)?\s+-(e|enc|encodedcommand|c|command|nop)\b|\|\s*(iex|%\s*\{|\?\s*\{)|-(eq|ne|match|like|replace|join|split)\s+['"$].*\|\s*out-`)

// foreigners find the typical words of shells other than POSIX shells. opening matches text behind which such a shell
// also sees << and stops, because no quote, comment or label hides it. cmd.exe and PowerShell differ in what quotes.
var foreigners = []struct {
	shell   string
	find    func(string) []int
	opening *lazyregexp.Regexp
}{
	{"cmd.exe", findBatch, lazyregexp.New(`^[\w./~ =>;&\n-]*$`)},
	{"PowerShell", findCmdlet, inPowerShell},
	{"PowerShell", findSyntax, inPowerShell},
}

var inPowerShell = lazyregexp.New(`^[\w./~ =>;&\n"$(-]*$`)

// foreign explains why a text is not for a POSIX shell, or returns "" if it can be. Text for another shell can parse
// and mean something else, so foreign recognizes it by its typical words. f is nil if the text does not parse.
func foreign(s string, f *syntax.File) string {
	for _, w := range foreigners {
		loc := w.find(s)
		if loc == nil || f != nil && w.find(outsideHeredocs(f, s, w.opening)) == nil {
			continue
		}
		return "The text is for " + w.shell + ": " + findings.Quote(s[loc[0]:loc[1]]) + "."
	}
	return ""
}

func findBatch(s string) []int {
	if !batchHint(s) {
		return nil
	}
	return batch.FindStringIndex(s)
}

func findCmdlet(s string) []int {
	if !cmdletHint(s) {
		return nil
	}
	if loc := cmdlet.FindStringIndex(s); loc != nil && hasCapital(s[loc[0]:loc[1]]) {
		return loc
	}
	return nil
}

func findSyntax(s string) []int {
	if strings.IndexByte(s, '$') < 0 && !strings.Contains(s, "]::") && !containsAnyFold(s, "iex", "powershell", "| %", "| ?", "|%", "|?") {
		return nil
	}
	return psSyntax.FindStringIndex(s)
}

// outsideHeredocs returns the text without its here-documents, which a POSIX shell alone reads; or the whole text, when
// what comes before them is more than opening.
func outsideHeredocs(f *syntax.File, text string, opening *lazyregexp.Regexp) string {
	var bodies []span
	first := len(text)
	syntax.Walk(f, func(n syntax.Node) bool {
		r, ok := n.(*syntax.Redirect)
		if !ok || r.Hdoc == nil {
			return true
		}
		first = min(first, int(r.OpPos.Offset()))
		bodies = append(bodies, span{int(r.Hdoc.Pos().Offset()), int(r.Hdoc.End().Offset())})
		return false
	})
	if !opening.MatchString(text[:first]) {
		return text
	}
	slices.SortFunc(bodies, func(x, y span) int { return x.start - y.start })
	var out strings.Builder
	at := 0
	for _, b := range bodies {
		out.WriteString(text[at:max(at, b.start)])
		at = max(at, b.end)
	}
	return out.String() + text[at:]
}

// ForeignProgram explains why a command name is one of PowerShell, however it is quoted, or returns "".
func ForeignProgram(name string) string {
	if cmdletHint(name) && cmdlet.MatchString(name) && hasCapital(name) {
		return "The text is for PowerShell: " + findings.Quote(name) + "."
	}
	return ""
}

// The hints are cheap filters: they return true for every text that the expressions could match.

func batchHint(s string) bool {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '%' || c == '@' && strings.HasPrefix(s[i:], "@echo"):
			return true
		case c == '/' && i > 0 && s[i-1] == ' ' && i+1 < len(s) && Letter(s[i+1]) && (i+2 == len(s) || !Letter(s[i+2]) && s[i+2] != '/' && s[i+2] != '.'):
			return true
		}
	}
	return containsAnyFold(s, "rem ", "local", "if exist", "if not", "if errorlevel", "if defined", "goto", "call :", "reg ", "taskkill", "attrib", "icacls", "schtasks", "@echo", "start /")
}

// cmdletHint looks for a dash between a letter and a capital.
func cmdletHint(s string) bool {
	for i := 1; i+1 < len(s); i++ {
		if s[i] == '-' && s[i+1] >= 'A' && s[i+1] <= 'Z' && Letter(s[i-1]) {
			return true
		}
	}
	return false
}

func Letter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// containsAnyFold reports whether s contains one of the words, in any case. The words must be in small letters.
func containsAnyFold(s string, words ...string) bool {
	var first [256]bool // the first bytes of the words
	for _, w := range words {
		first[w[0]] = true
	}
	for i := range len(s) {
		c := s[i]
		if Letter(c) {
			c |= 0x20
		}
		if !first[c] {
			continue
		}
		for _, w := range words {
			if w[0] == c && i+len(w) <= len(s) && strings.EqualFold(s[i:i+len(w)], w) {
				return true
			}
		}
	}
	return false
}

// hasCapital reports whether a capital follows the first dash. That tells a cmdlet from other programs with a dash.
func hasCapital(s string) bool {
	_, noun, _ := strings.Cut(s, "-")
	return noun != "" && noun[0] >= 'A' && noun[0] <= 'Z'
}
