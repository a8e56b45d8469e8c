package shellparse

import (
	"regexp"
	"strings"
)

// cmdlet is a PowerShell command name: an approved verb, a dash, a noun that begins with a capital.
var cmdlet = regexp.MustCompile(`(?i)(^|[|;&({=\n]\s*)(get|set|new|remove|invoke|start|stop|write|read|out|import|export|test|select|where|foreach|add|clear|copy|move|rename|convertto|convertfrom|join|split|resolve|measure|sort|format|update|install|uninstall|register|unregister|enable|disable|restart|wait|push|pop|expand|compress)-[A-Z][A-Za-z]+\b`)

// batch is text that only cmd.exe understands.
var batch = regexp.MustCompile(`(?im)(^|[&|(]\s*)(@echo\s+(off|on)\b|rem\s+\S|setlocal\b|endlocal\b|if\s+(not\s+)?(exist|errorlevel|defined)\s|for\s+/[dflr]\s|goto\s+:|call\s+:|del\s+/[a-z]\b|rd\s+/[a-z]\b|rmdir\s+/[a-z]\b|copy\s+/[a-z]\b|dir\s+/[a-z]\b|reg\s+(add|delete|query)\s+"?hk|start\s+/[a-z]+\b|taskkill\s+/|attrib\s+[+-][a-z]\b|icacls\s|schtasks\s+/)|%(comspec|systemroot|windir|userprofile|appdata|localappdata|programfiles|temp|username|cd|errorlevel|path|~[a-z]*[0-9])%?`)

// psSyntax is PowerShell that parses as something else in a POSIX shell.
var psSyntax = regexp.MustCompile(`(?i)\$env:[a-z_]\w*|\[(system|net|io|text|convert|environment|diagnostics)[.\w]*\]::|\biex\s*[\s(]|(^|[;|&\s])powershell(\.exe)?\s+-(e|enc|encodedcommand|c|command|nop)\b|\|\s*(iex|%\s*\{|\?\s*\{)|-(eq|ne|match|like|replace|join|split)\s+['"$].*\|\s*out-`)

// foreign says why a text is not for a POSIX shell, "" when it can be. Text of another shell can parse and
// mean something else, so that it is known by its own words.
func foreign(s string) string {
	if strings.IndexByte(s, '%') >= 0 || strings.IndexByte(s, '/') >= 0 || strings.IndexByte(s, '@') == 0 || strings.HasPrefix(s, "rem") || strings.HasPrefix(s, "REM") || strings.Contains(s, "exist") || strings.Contains(s, "setlocal") {
		if loc := batch.FindStringIndex(s); loc != nil {
			return "The text is for cmd.exe: " + quote(s[loc[0]:loc[1]]) + "."
		}
	}
	if strings.IndexByte(s, '-') >= 0 {
		if loc := cmdlet.FindStringIndex(s); loc != nil && hasCapital(s[loc[0]:loc[1]]) {
			return "The text is for PowerShell: " + quote(s[loc[0]:loc[1]]) + "."
		}
	}
	if strings.IndexByte(s, '$') >= 0 || strings.Contains(s, "]::") || strings.Contains(s, "iex") || strings.Contains(s, "IEX") {
		if loc := psSyntax.FindStringIndex(s); loc != nil {
			return "The text is for PowerShell: " + quote(s[loc[0]:loc[1]]) + "."
		}
	}
	return ""
}

// hasCapital tells a cmdlet from a program with a dash in its name.
func hasCapital(s string) bool {
	_, noun, _ := strings.Cut(s, "-")
	return noun != "" && noun[0] >= 'A' && noun[0] <= 'Z'
}
