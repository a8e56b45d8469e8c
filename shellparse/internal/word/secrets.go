package word

import (
	"slices"
	"strings"

	"callgate/internal/lazyregexp"
)

// Words of the names of variables and settings that hold credentials, and words that say that a name holds something
// about one.
var (
	secretWords  = Set("TOKEN SECRET SECRETS PASSWORD PASSWD PASS PASSPHRASE KEY APIKEY CREDENTIAL CREDENTIALS CREDS AUTH PAT JWT BEARER EXTRAHEADER HELPER COOKIE COOKIES MNEMONIC")
	secretEnds   = []string{"TOKEN", "SECRET", "PASSWORD", "PASSWD", "APIKEY", "SECRETKEY", "ACCESSKEY", "PRIVATEKEY", "SMTPPASS", "CREDENTIALS"}
	aboutSecrets = Set("PUBLIC PUB SOCK FILE PATH DIR TYPE NAME LENGTH SIZE COUNT LIMIT MAX MIN NUM TTL EXPIRY EXPIRES URL HOST PORT")
)

// loginAddress is how variables are named whose value is an address with a login, or one that lets anybody in.
var loginAddress = lazyregexp.New(`(?i)(?:^|_)(?:(?:database|db|postgres(?:ql)?|pg|mysql|mariadb|mongo(?:db)?|redis|amqp|rabbitmq|cloudamqp|broker|clickhouse|elasticsearch|webhook)_?ur[li]|dsn|conn(?:ection)?_?str(?:ing)?|mysql_pwd|seed_?phrase|kube_?config_?(?:data|content|base64|b64))$`)

// SecretName says that a variable or a setting of this name holds a credential.
func SecretName(name string) bool {
	if loginAddress.MatchString(name) {
		return true
	}
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

// SecretIn returns the variable with a credential, or with a name that is not known, that the source of a word shows.
func (a *Shell) SecretIn(source string) string {
	if strings.IndexByte(source, '$') < 0 {
		return ""
	}
	for _, m := range expanded.FindAllStringSubmatch(source, MaxCandidates) {
		name := m[2] + m[4]
		switch {
		case m[1] == "#", strings.HasSuffix(m[3], "+"):
		case m[1] == "!" && m[3] == "", SecretName(name) && !a.Assigned[name], a.secrets[name]:
			return name
		}
	}
	return ""
}

// Copies notes that a variable is given a value with a credential in it.
func (a *Shell) Copies(name, source string) {
	if a.SecretIn(source) == "" {
		return
	}
	if a.secrets == nil {
		a.secrets = map[string]bool{}
	}
	a.secrets[name] = true
}
