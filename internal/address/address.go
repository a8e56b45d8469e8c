// Package address finds the hosts that programs may read in a web address.
//
// Programs disagree: one takes "http://a\@b/" to the host a, another to b. An allow MUST hold for the result of Parse,
// which follows the URL standard of browsers and most libraries. A denial MUST look at all of Readings.
package address

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// URL is one reading of an address, in normal form.
type URL struct {
	Scheme string // in lower case
	User   bool   // whether there is a user name or password; the normal form leaves them out
	Host   string // as Host returns it, or in lower case if Host cannot read it
	Port   string // "" for the scheme's default port
	Rest   string // path, query and fragment, from the slash on
}

// String returns the address in the form that rules match.
func (u URL) String() string {
	port := u.Port
	if port != "" {
		port = ":" + port
	}
	return u.Scheme + "://" + u.Host + port + u.Rest
}

// Spellings returns the address in all forms that rules match. An address without a path means the same as one with
// "/".
func (u URL) Spellings() []string {
	text := u.String()
	switch u.Rest {
	case "/":
		return []string{text, text[:len(text)-1]}
	case "":
		return []string{text, text + "/"}
	}
	return []string{text}
}

// ports maps the schemes whose addresses name a host after slashes to their default ports. tcp and udp are connections
// that a shell opens, and have none.
var ports = map[string]string{"http": "80", "ws": "80", "https": "443", "wss": "443", "ftp": "21", "tcp": "none", "udp": "none"}

// Parse reads text as the URL standard does. ok is false if the standard cannot read it, or if the scheme's addresses
// lead to no host.
func Parse(text string) (u URL, ok bool) {
	if strings.IndexByte(text, ':') < 0 { // mostly a long text
		return URL{}, false
	}
	scheme, rest, ok := cutScheme(clean(text))
	if !ok || ports[scheme] == "" {
		return URL{}, false
	}
	rest = strings.TrimLeft(rest, `/\`)
	end := indexAny(rest, `/\?#`)
	return read(scheme, rest[:end], rest[end:], true)
}

// Readings returns all ways in which programs read text as an address. The standard's comes first, if there is one.
func Readings(text string) (list []URL) {
	add := func(u URL, ok bool) {
		if ok && !slices.Contains(list, u) {
			list = append(list, u)
		}
	}
	add(Parse(text))
	text = clean(text)
	scheme, rest, ok := cutScheme(text)
	switch {
	case !ok || ports[scheme] == "" && !strings.HasPrefix(rest, "//"):
		if inner := strings.Index(strings.ToLower(text), "http"); inner > 0 && ok { // view-source:http://…
			return Readings(text[inner:])
		}
		scheme, rest = "http", text // "host:port/path", as curl takes it
	case ports[scheme] == "" && ok:
		if inner := strings.Index(rest, "://"); inner > 0 {
			for _, u := range Readings(rest[strings.LastIndexAny(rest[:inner], "/:!")+1:]) {
				add(u, true)
			}
		}
	}
	rest = strings.TrimLeft(rest, `/\`)
	for _, ends := range []string{"/?#", "/"} { // curl takes a backslash as part of the host; older parsers also # and ?
		end := indexAny(rest, ends)
		authority, after := rest[:end], rest[end:]
		add(read(scheme, authority, after, false))
		if _, behind, ok := strings.Cut(authority, "@"); ok { // others end the user at the first @
			host, _, _ := strings.Cut(behind, "@")
			add(read(scheme, host, after, false))
		}
	}
	return list
}

// Ambiguous reports whether programs disagree about the host of an address.
func Ambiguous(text string) bool {
	list := Readings(text)
	return slices.ContainsFunc(list, func(u URL) bool { return u.Host != list[0].Host || u.Port != list[0].Port })
}

// clean removes what the standard ignores: blanks and control characters at the ends, tabs and line breaks anywhere.
func clean(text string) string {
	text = strings.TrimFunc(text, func(r rune) bool { return r <= ' ' })
	if strings.ContainsAny(text, "\t\r\n") {
		text = breaks.Replace(text)
	}
	return text
}

// Unbroken returns text without line breaks and tabs, which readers of addresses ignore.
func Unbroken(text string) string { return breaks.Replace(text) }

var breaks = strings.NewReplacer("\t", "", "\r", "", "\n", "")

// cutScheme splits off the scheme and returns it in lower case.
func cutScheme(text string) (scheme, rest string, ok bool) {
	scheme, rest, ok = strings.Cut(text, ":")
	if !ok || scheme == "" || strings.IndexFunc(scheme, func(r rune) bool {
		return !('a' <= r|0x20 && r|0x20 <= 'z' || '0' <= r && r <= '9' || strings.ContainsRune("+-.", r))
	}) >= 0 || '0' <= scheme[0] && scheme[0] <= '9' || strings.IndexByte("+-.", scheme[0]) >= 0 {
		return "", text, false
	}
	return strings.ToLower(scheme), rest, true
}

// read reads the part between the slashes and the path. If strict, it refuses what the standard forbids. Otherwise it
// takes the host as resolvers would.
func read(scheme, authority, rest string, strict bool) (u URL, ok bool) {
	u.Scheme = scheme
	if at := strings.LastIndexByte(authority, '@'); at >= 0 {
		u.User, authority = true, authority[at+1:]
	}
	host := authority
	if colon := strings.LastIndexByte(authority, ':'); colon > strings.LastIndexByte(authority, ']') {
		host, u.Port = authority[:colon], authority[colon+1:]
		if port, err := strconv.ParseUint(u.Port, 10, 16); err == nil && strings.Trim(u.Port, "0123456789") == "" {
			if u.Port = strconv.FormatUint(port, 10); u.Port == ports[scheme] {
				u.Port = ""
			}
		} else if strict && u.Port != "" {
			return URL{}, false
		}
	}
	normal, known := Host(host)
	switch {
	case known:
		u.Host = normal
	case strict || host == "":
		return URL{}, false
	default:
		u.Host = looseHost(host)
	}
	u.Rest = normalRest(rest)
	return u, true
}

// looseHost returns a host that the standard does not know, as resolvers might read it.
func looseHost(host string) string {
	host = strings.TrimRight(strings.Trim(Plain(host), "[]"), ".")
	host, _, _ = strings.Cut(host, "%") // a zone
	if addr, ok := IP(host); ok {
		return spell(addr)
	}
	return host
}

// IPs returns the IP addresses that a host may be, as read by the standard and by looser resolvers. A name has none.
func IPs(host string) (addrs []netip.Addr) {
	for _, spelling := range []string{host, looseHost(host)} {
		if normal, ok := Host(spelling); ok {
			spelling = normal
		}
		if addr, ok := IP(strings.Trim(spelling, "[]")); ok {
			if addr = Embedded(addr); !slices.Contains(addrs, addr) {
				addrs = append(addrs, addr)
			}
		}
	}
	return addrs
}

// normalRest returns path, query and fragment in normal form: no dot segments, and the standard's escapes.
func normalRest(rest string) string {
	path, fragment, hasFragment := strings.Cut(rest, "#")
	path, query, hasQuery := strings.Cut(path, "?")
	var segments []string
	parts := strings.Split(strings.ReplaceAll(path, `\`, "/"), "/")
	for i, part := range parts[min(1, len(parts)):] {
		last := i == len(parts)-2
		switch strings.ReplaceAll(strings.ToLower(part), "%2e", ".") {
		case "..":
			segments = segments[:max(0, len(segments)-1)]
			if last {
				segments = append(segments, "")
			}
		case ".":
			if last {
				segments = append(segments, "")
			}
		default:
			segments = append(segments, escape(part, "\"#<>?`{}"))
		}
	}
	normal := "/" + strings.Join(segments, "/")
	if hasQuery {
		normal += "?" + escape(query, "\"#<>'")
	}
	if hasFragment {
		normal += "#" + escape(fragment, "\"<>`")
	}
	return normal
}

// escape returns text with every byte that is not visible ASCII, or is in set, as %XX.
func escape(text, set string) string {
	const hex = "0123456789ABCDEF"
	var b []byte
	for i := range len(text) {
		if c := text[i]; c <= ' ' || c >= 0x7f || strings.IndexByte(set, c) >= 0 {
			b = append(b, '%', hex[c>>4], hex[c&15])
		} else {
			b = append(b, c)
		}
	}
	return string(b)
}

// indexAny is like strings.IndexAny, but returns the length of text if none of the characters is found.
func indexAny(text, chars string) int {
	if i := strings.IndexAny(text, chars); i >= 0 {
		return i
	}
	return len(text)
}
