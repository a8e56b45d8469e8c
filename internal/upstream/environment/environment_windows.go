package environment

import "strings"

// passes reports whether a clean environment includes the variable.
func passes(name string) bool {
	switch strings.ToUpper(name) {
	case "PATH", "PATHEXT", "SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "OS",
		"TEMP", "TMP", "TZ", "LANG",
		"HOMEDRIVE", "HOMEPATH", "USERPROFILE", "USERNAME", "USERDOMAIN", "COMPUTERNAME",
		"APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "ALLUSERSPROFILE", "PUBLIC",
		"PROGRAMFILES", "PROGRAMFILES(X86)", "PROGRAMW6432", "COMMONPROGRAMFILES", "COMMONPROGRAMFILES(X86)", "COMMONPROGRAMW6432",
		"PROCESSOR_ARCHITECTURE", "PROCESSOR_IDENTIFIER", "NUMBER_OF_PROCESSORS":
		return true
	}
	return false
}

func sameName(a, b string) bool { return strings.EqualFold(a, b) }
