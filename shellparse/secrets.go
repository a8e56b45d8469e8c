package shellparse

import (
	"slices"
	"strings"

	"callgate/internal/lazyregexp"
	"callgate/shellparse/programs"
)

// Words of the names of variables and settings that hold credentials, and words that say that a name holds something
// about one.
var (
	secretWords  = set("TOKEN SECRET SECRETS PASSWORD PASSWD PASS PASSPHRASE KEY APIKEY CREDENTIAL CREDENTIALS CREDS AUTH PAT JWT BEARER EXTRAHEADER HELPER")
	secretEnds   = []string{"TOKEN", "SECRET", "PASSWORD", "PASSWD", "APIKEY", "SECRETKEY", "ACCESSKEY", "PRIVATEKEY", "SMTPPASS", "CREDENTIALS"}
	aboutSecrets = set("PUBLIC PUB SOCK FILE PATH DIR TYPE NAME LENGTH SIZE COUNT LIMIT MAX MIN NUM TTL EXPIRY EXPIRES URL HOST PORT")
)

// secretName says that a variable or a setting of this name holds a credential.
func secretName(name string) bool {
	found := false
	for part := range strings.FieldsFuncSeq(strings.ToUpper(name), func(r rune) bool { return (r < 'A' || r > 'Z') && (r < '0' || r > '9') }) {
		if aboutSecrets[part] {
			return false
		}
		found = found || secretWords[part] || slices.ContainsFunc(secretEnds, func(end string) bool { return strings.HasSuffix(part, end) })
	}
	return found
}

// expanded is a variable that a text expands; the first group is what stands before the name in braces, the third what
// follows it there.
var expanded = lazyregexp.New(`\$(?:\{([!#]?)([A-Za-z_]\w*)(:?[^}])?|([A-Za-z_]\w*))`)

// secretIn returns the variable with a credential, or with a name that is not known, that the source of a word shows.
func (a *shell) secretIn(source string) string {
	if strings.IndexByte(source, '$') < 0 {
		return ""
	}
	for _, m := range expanded.FindAllStringSubmatch(source, maxCandidates) {
		name := m[2] + m[4]
		switch {
		case m[1] == "#", strings.HasSuffix(m[3], "+"):
		case m[1] == "!" && m[3] == "", secretName(name) && !a.assigned[name], a.secrets[name]:
			return name
		}
	}
	return ""
}

// quiet are programs that only look at their words.
var quiet = set("test true false : sleep exit return shift wait read unset export local declare typeset readonly getopts cd pushd let")

// shows notes variables with credentials that a program shows: one that prints its words or what it reads, and one that
// only looks, which shows its words at the latest when it complains about them.
func (a *analysis) shows(row *programs.Row, c *call) {
	reader := row != nil && (row.Operands == "r" || row.Operands == "1r") || c.is(programs.Prints)
	if !reader {
		looks := c.facts().Risk == programs.ReadOnly || len(c.argv) > 1 && programs.Find(c.name, c.argv[1].text).Risk == programs.ReadOnly
		if !looks || quiet[c.name] || c.name == "[" {
			return
		}
	}
	for _, w := range c.argv[1:] {
		if w.known {
			continue
		}
		if name := a.secretIn(w.text); name != "" {
			c.effectAt("shows the variable "+name, w)
		}
	}
	if in := c.sc.input; reader && in.kind == inputText && !in.text.known {
		if name := a.secretIn(in.text.text); name != "" {
			c.effect("shows the variable " + name)
		}
	}
}

// copies notes that a variable is given a value with a credential in it.
func (a *shell) copies(name, source string) {
	if a.secretIn(source) == "" {
		return
	}
	if a.secrets == nil {
		a.secrets = map[string]bool{}
	}
	a.secrets[name] = true
}

// showsSetting notes settings with credentials that a command shows.
func (c *call) showsSetting() {
	if len(c.argv) < 3 || !programs.Find(c.name, c.argv[1].text).Has(programs.ReadsSettings) {
		return
	}
	for _, w := range c.argv[2:] {
		if w.known && !strings.HasPrefix(w.text, "-") && (secretName(w.text) || w.text == "aws_access_key_id") {
			c.effectAt("shows the setting "+w.text, w)
		}
	}
}
