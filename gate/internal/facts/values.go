package facts

import (
	"net/url"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/net/publicsuffix"

	"callgate/internal/address"
	"callgate/internal/jsonx"
	"callgate/internal/lazyregexp"
)

// Value is one text or number of the arguments.
type Value struct {
	Name   string // of the argument, followed by the members within it: body.to
	Text   string
	Number bool
}

// Under reports whether the value stands at one of the places that labels name, or within it.
func (v Value) Under(places []string) bool {
	return slices.ContainsFunc(places, func(p string) bool {
		return len(v.Name) >= len(p) && strings.EqualFold(v.Name[:len(p)], p) && (len(v.Name) == len(p) || v.Name[len(p)] == '.')
	})
}

var addressForm = lazyregexp.New(`(?i)^(?:[a-z][a-z0-9+.-]*://\S+|[^\s@/]+@[a-z0-9-]+(?:\.[a-z0-9-]+)+(?:[:/]\S*)?|(?:[a-z0-9-]+\.)+[a-z]{2,}(?:[:/]\S*)?|\+?[0-9][0-9 ()-]{7,}|#?[a-z]{2}[0-9]{2}[a-z0-9]{10,})$`)

// LooksLikeAddress reports whether the value has the form of a URL, a host, a mail address, or a telephone or account
// number.
func (v Value) LooksLikeAddress() bool {
	if !v.Number && OfWeb(v.Text) && !strings.Contains(strings.TrimSpace(v.Text), " ") {
		return true
	}
	return !v.Number && len(v.Text) <= 2048 && strings.ContainsAny(v.Text, ".:@0123456789") && strings.IndexByte(v.Text, '\n') < 0 &&
		addressForm.MatchString(v.Text) && !fileName(v.Text)
}

// LooksLikePage reports whether the value has the form of a web address, with or without a scheme.
func (v Value) LooksLikePage() bool {
	return v.LooksLikeAddress() && (OfWeb(v.Text) || !strings.Contains(v.Text, "://") && strings.Contains(HostOf(v.Text), ".") && !strings.Contains(v.Text, "@"))
}

// OfWeb reports whether a text begins with one of WebSchemes. Programs do not need both slashes behind it, and pass over
// blanks before it, and over tabs and line breaks anywhere.
func OfWeb(text string) bool {
	scheme := make([]byte, 0, 8)
	for i := range len(text) {
		switch c := text[i]; {
		case c == '\t', c == '\r', c == '\n', c <= ' ' && len(scheme) == 0:
		case c == ':':
			rest := strings.TrimLeft(text[i+1:], "\t\r\n")
			return rest != "" && rest[0] > ' ' && WebSchemes[string(scheme)]
		case 'a' <= c|0x20 && c|0x20 <= 'z' && len(scheme) < cap(scheme):
			scheme = append(scheme, c|0x20)
		default:
			return false
		}
	}
	return false
}

// fileName reports whether a text that looks like a host is a file's name: notes.txt, README.md.
func fileName(text string) bool {
	if strings.ContainsAny(text, "/:@+#") || !strings.Contains(text, ".") {
		return false
	}
	suffix, listed := publicsuffix.PublicSuffix(strings.ToLower(text))
	listed = listed || reserved[suffix]
	return !listed || strings.Count(text, ".") == 1 && fileEndings[suffix]
}

// reserved holds top-level domains that nobody can register (RFC 2606) but that do name hosts.
var reserved = WordsOf("example test invalid localhost")

// fileEndings holds top-level domains that more file names than host names end in.
var fileEndings = WordsOf("cc md ml mov pl ps py rs sh so tf zip")

// argumentsOf returns all texts and numbers of the arguments.
func argumentsOf(raw []byte) (list []Value) {
	leaves := jsonx.Leaves(raw)
	list = make([]Value, len(leaves))
	for i, l := range leaves {
		list[i] = Value(l)
	}
	return list
}

// Links returns the first n addresses in a text, as the expression links finds them. No address contains a character of
// unlinked. So it searches only the pieces between two of these, and only those that contain "://" or "www.".
func Links(text string, n int) (list []string) {
	for at, scheme, www := 0, -1, -1; len(list) < n; {
		if scheme < at {
			scheme = indexFrom(text, at, "://")
		}
		for www < at || www < len(text) && !strings.EqualFold(text[www-3:www], "www") { // the dot behind www
			www = indexFrom(text, max(at, www+1, 3), ".")
		}
		i := min(scheme, www)
		if i == len(text) {
			break
		}
		start := at + strings.LastIndexAny(text[at:i], unlinked) + 1
		at = len(text)
		if end := strings.IndexAny(text[i:], unlinked); end >= 0 {
			at = i + end
		}
		list = append(list, links.FindAllString(text[start:at], n-len(list))...)
	}
	return list
}

// indexFrom returns the index of other in text from at on, or the length of text if it is not there.
func indexFrom(text string, at int, other string) int {
	if at < len(text) {
		if i := strings.Index(text[at:], other); i >= 0 {
			return at + i
		}
	}
	return len(text)
}

// unlinked holds the characters that no address contains.
const unlinked = "\t\n\f\r \"'<>()[]{}|`"

var links = lazyregexp.New(`(?i)\b(?:[a-z][a-z0-9+.-]*://|www\.)[^\s"'<>()\[\]{}|` + "`" + `]+`)

// IsDistinctive reports whether a value is distinctive enough to have a source. A single digit or a word like "me" is
// not.
func IsDistinctive(text string) bool {
	n := 0
	for _, r := range text {
		if r > ' ' {
			n++
		}
	}
	return n >= 4
}

// Distinct reports whether a value is more than a common word: it is long, or it contains something besides letters.
func Distinct(text string) bool {
	return IsDistinctive(text) && (len(text) >= 12 || strings.IndexFunc(text, func(r rune) bool { return !unicode.IsLetter(r) }) >= 0)
}

// IsDate reports whether a text is a date, with or without a time, such as 2026-05-30.
func IsDate(text string) bool { return date.MatchString(text) }

var date = lazyregexp.New(`^[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ][0-9:.]+(?:Z|[+-][0-9:]+)?)?$`)

// IsIBAN reports whether the value is a bank account number with the right check digits.
func (v Value) IsIBAN() bool {
	if v.Number || len(v.Text) > 4*longestIBAN {
		return false
	}
	text := strings.TrimPrefix(strings.ToUpper(strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return -1
	}, v.Text)), "IBAN")
	if !iban.MatchString(text) {
		return false
	}
	rest := 0
	for _, r := range text[4:] + text[:4] {
		if r >= 'A' {
			rest = (rest*100 + int(r-'A') + 10) % 97
		} else {
			rest = (rest*10 + int(r-'0')) % 97
		}
	}
	return rest == 1
}

// longestIBAN is the largest number of letters and digits in an IBAN.
const longestIBAN = 34

var iban = lazyregexp.New(`^[A-Z]{2}[0-9]{2}[A-Z0-9]{10,30}$`)

// CarriesData reports whether an address can carry data besides the place: in a query, a fragment, a long path or a
// long label of the host. An address that cannot be read can.
func CarriesData(to string) bool {
	u, err := parsed(to)
	if err != nil || u.Host == "" {
		return true
	}
	return u.RawQuery != "" || u.Fragment != "" || len(u.Path) > 40 || slices.ContainsFunc(strings.Split(u.Host, "."), func(label string) bool { return len(label) > 24 })
}

// CarriesCode reports whether a part of an address is a long word of letters and digits, such as an account, a key or
// encoded text. A commit hash in a path does not count.
func CarriesCode(to string) bool {
	u, err := parsed(to)
	if err != nil {
		return true
	}
	parts := strings.FieldsFunc(u.RawQuery+"&"+u.Fragment, func(r rune) bool { return strings.ContainsRune("&=;+,/", r) })
	for segment := range strings.SplitSeq(u.Path, "/") {
		if len(segment) != 40 || strings.Trim(segment, "0123456789abcdef") != "" {
			parts = append(parts, segment)
		}
	}
	return slices.ContainsFunc(append(parts, strings.Split(u.Host, ".")...), func(part string) bool {
		return len(part) >= 24 && strings.ContainsAny(part, "0123456789") && strings.IndexFunc(part, func(r rune) bool {
			return r != '_' && r != '%' && !(r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z')
		}) < 0 && strings.ContainsFunc(part, unicode.IsLetter)
	})
}

// parsed parses an address, which may lack its scheme.
func parsed(to string) (*url.URL, error) {
	if !strings.Contains(to, "://") {
		to = "//" + to
	}
	return url.Parse(to)
}

// HostOf returns the host of an address, or "" for a mail address. A value without a scheme is taken for one that
// begins with its host.
func HostOf(to string) string {
	if u, err := url.Parse(to); err == nil && u.Host != "" {
		return u.Hostname()
	}
	if u, ok := address.Parse(to); ok {
		return u.Host
	}
	if at := strings.LastIndexByte(to, '@'); at > 0 {
		return ""
	}
	host, _, _ := strings.Cut(to, "/")
	return host
}
