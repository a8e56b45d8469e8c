package word

import (
	"slices"
	"strings"

	"callgate/internal/lazyregexp"
)

// Words in the names of variables and settings that hold credentials, or only something about one.
var (
	secretWords = Set("TOKEN SECRET PASSWORD PASSWD PASS PASSPHRASE KEY APIKEY CREDENTIAL CRED AUTH OAUTH PAT JWT BEARER EXTRAHEADER HELPER COOKIE MNEMONIC " +
		"PW PWD SK OTP TOTP HOTP SEED SALT PEPPER PIN PEM HMAC CSRF XSRF DEK KEK SAS UNSEAL PHPSESSID JSESSIONID")
	secretEnds = []string{"TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASS", "APIKEY", "SECRETKEY", "ACCESSKEY", "PRIVATEKEY", "PRIVKEY", "MASTERKEY", "SSHKEY",
		"AUTHKEY", "SIGNINGKEY", "ENCRYPTIONKEY", "CREDENTIAL", "DBPW"}
	aboutSecrets = Set("PUBLIC PUB SOCK FILE PATH DIR TYPE NAME LENGTH SIZE COUNT LIMIT MAX MIN NUM TTL EXPIRY EXPIRES URL HOST PORT VERSION RELEASE FINGERPRINT")
)

// notSecretBeside maps words of secretWords to other words beside which they name no credential: SORT_KEY, OLD_PWD,
// RANDOM_SEED.
var notSecretBeside = map[string]map[string]bool{
	"KEY": Set("SORT PRIMARY FOREIGN CACHE PARTITION GROUP GROUPING RANGE OBJECT MAP JSON YAML INDEX LOOKUP UNIQUE SEARCH ROW COLUMN FIELD FEATURE CONFIG " +
		"SETTING SHORTCUT ARROW HOT ISSUE PROJECT ORDER FILTER BUCKET S3 STORAGE"),
	"TOKEN": Set("PROMPT COMPLETION CONTEXT TOTAL USED NEXT"),
	"PASS":  Set("BY FIRST SECOND TEST TESTS RENDER MULTI SINGLE"),
	"PWD":   Set("OLD ORIG ORIGINAL INIT START SAVED SCRIPT CURRENT WORK PROJECT BUILD BASE"),
	"SEED":  Set("RANDOM RNG TEST HASH DATA DB TORCH NUMPY NP PYTHON GLOBAL FUZZ SIM SIMULATION SHUFFLE TRAIN"),
	"PIN":   Set("LED GPIO BUTTON DATA CLK RX TX RESET"),
	"PEM":   Set("CERT CERTIFICATE CA CHAIN CSR"),
}

// alone lists the words of secretWords that name no credential by themselves.
var alone = Set("PWD SEED PIN SK PW SAS PEM")

// unlike lists words that end like the name of a credential but name none.
var unlike = Set("BYPASS COMPASS SURPASS TRESPASS ENCOMPASS OVERPASS UNDERPASS")

// credentialName matches names of variables whose value gives access: an address with a login, a code, a private key.
var credentialName = lazyregexp.New(`(?i)(?:^|_)(?:(?:database|db|postgres(?:ql)?|pg|mysql|mariadb|mongo(?:db)?|redis|amqp|rabbitmq|cloudamqp|broker|clickhouse|elasticsearch|webhook)_?ur[li]|` +
	`webhook|dsn|conn(?:ection)?_?str(?:ing)?|mysql_pwd|(?:seed|recovery|backup|wallet)_?(?:phrase|words|codes?)|(?:mfa|2fa|sms|verification|login)_?codes?|` +
	`kube_?config_?(?:data|content|base64|b64)|(?:service_?account|gcp_?sa)_?(?:json|data|content|base64|b64)|priv(?:ate)?)$`)

// SecretName reports whether a variable or a setting of this name holds a credential.
func SecretName(name string) bool {
	if credentialName.MatchString(name) {
		return true
	}
	parts := strings.FieldsFunc(strings.ToUpper(name), func(r rune) bool { return (r < 'A' || r > 'Z') && (r < '0' || r > '9') })
	return !slices.ContainsFunc(parts, func(part string) bool { return aboutSecrets[part] }) &&
		slices.ContainsFunc(parts, func(part string) bool { return namesSecret(part, parts) })
}

// namesSecret reports whether a part of a name, or its singular, names a credential beside the other parts.
func namesSecret(part string, parts []string) bool {
	if unlike[part] {
		return false
	}
	for _, word := range [2]string{part, strings.TrimSuffix(part, "S")} {
		switch {
		case !secretWords[word]:
			if slices.ContainsFunc(secretEnds, func(end string) bool { return strings.HasSuffix(word, end) }) {
				return true
			}
		case len(parts) == 1:
			return !alone[word]
		default:
			return !slices.ContainsFunc(parts, func(other string) bool { return notSecretBeside[word][other] })
		}
	}
	return false
}

// expanded matches an expanded variable. In braces, group 1 is the prefix of the name and group 3 what follows it.
var expanded = lazyregexp.New(`\$(?:\{([!#]?)([A-Za-z_]\w*)(:?[^}])?|([A-Za-z_]\w*))`)

// SecretIn returns the first variable in the source of a word that holds a credential, or that is expanded indirectly
// (${!x}); "" if there is none.
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

// Copies records that a variable receives a value with a credential in it.
func (a *Shell) Copies(name, source string) {
	if a.SecretIn(source) == "" {
		return
	}
	if a.secrets == nil {
		a.secrets = map[string]bool{}
	}
	a.secrets[name] = true
}
