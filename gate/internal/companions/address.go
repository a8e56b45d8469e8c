// Package companions finds the approvers' addresses in a call, however they are spelled. No tool may talk to them.
package companions

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"callgate/gate/internal/facts"
	"callgate/gate/tools"
	"callgate/internal/address"
	"callgate/internal/lazyregexp"
	"callgate/internal/textscan"
	"callgate/permissions"
	"callgate/shellparse/programs"
)

// The port of a companion is looked for in five forms:
//
//   - HOST:PORT in any text, where the host is this machine by name or by any spelling of its numbers;
//   - a URL with that port, whatever its host, because a name can resolve to this machine;
//   - a URL without a port, where its scheme implies one of the ports and the host is this machine;
//   - the words of a command, where host and port may be separate words, and names count if it uses the network;
//   - members of a JSON object, where they may be separate too.

// Reaches reports whether a call with these arguments, and texts in them, names one of the ports on this machine. a
// holds its commands and paths.
func Reaches(arguments []byte, texts []facts.Text, a *tools.Analysis, ports []string) bool {
	if len(ports) == 0 {
		return false
	}
	numbered := HasNumber(arguments, ports)
	for i := range texts {
		for _, reading := range readings(&texts[i]) {
			if !reading.may(ports) {
				continue
			}
			numbered = numbered || namesNumber(reading.text, ports)
			if namesAddress(reading.text, ports) {
				return true
			}
		}
	}
	if numbered && namesPair(arguments, ports) {
		return true
	}
	for _, path := range a.Paths {
		if namesAddress(address.Plain(path), ports) {
			return true
		}
	}
	return slices.ContainsFunc(a.Commands, func(c tools.CommandView) bool { return commandReaches(c, ports) })
}

// MayNameAddress reports whether text can contain a number at all, in digits of any script, or a URL. Most calls
// cannot, so nobody needs to know the ports for them.
func MayNameAddress(text string) bool {
	return textscan.HasDigit(text) || strings.Contains(text, ":/") || strings.Contains(text, `:\`)
}

// MayReach is MayNameAddress for arguments.
func MayReach(arguments []byte) bool { return MayNameAddress(textscan.String(arguments)) }

// HasNumber reports whether JSON may hold, outside of strings, one of the ports, or a number that is not spelled with
// its digits, such as 7777e0. It looks at most calls, and a regular expression would take a hundred times longer.
func HasNumber(text []byte, ports []string) bool {
	for from := 0; from < len(text); {
		end := len(text)
		if quote := bytes.IndexByte(text[from:], '"'); quote >= 0 {
			end = from + quote
		}
		outside := textscan.String(text[from:end])
		if namesNumber(outside, ports) || hasExponent(outside) {
			return true
		}
		if end == len(text) {
			return false
		}
		from = endOfString(text, end) + 1
	}
	return false
}

// hasExponent reports whether text, which holds no string, may hold a number with an exponent.
func hasExponent(text string) bool {
	for i := range len(text) {
		if text[i]|0x20 != 'e' || i == 0 || !isDigit(text[i-1]) {
			continue
		}
		rest := text[i+1:]
		if len(rest) > 1 && (rest[0] == '+' || rest[0] == '-') {
			rest = rest[1:]
		}
		if len(rest) > 0 && isDigit(rest[0]) {
			return true
		}
	}
	return false
}

// endOfString returns the index of the quote that ends the string that begins at i, or the length of the text.
func endOfString(text []byte, i int) int {
	for end := i + 1; ; end++ {
		quote := bytes.IndexByte(text[end:], '"')
		if quote < 0 {
			return len(text)
		}
		end += quote
		escapes := end
		for text[escapes-1] == '\\' {
			escapes--
		}
		if (end-escapes)%2 == 0 {
			return end
		}
	}
}

// namesNumber reports whether text contains the digits of a port. A text without them needs no closer look.
func namesNumber(text string, ports []string) bool {
	return slices.ContainsFunc(ports, func(port string) bool { return strings.Contains(text, port) })
}

// namesAddress reports whether text, as from address.Plain, has HOST:PORT of this machine, or a URL with the port.
func namesAddress(text string, ports []string) bool {
	if impliesPort(text, ports) {
		return true
	}
	if !namesNumber(text, ports) {
		return false
	}
	for _, port := range ports {
		for from := 0; ; {
			at := strings.Index(text[from:], port)
			if at < 0 {
				break
			}
			at, from = from+at, from+at+len(port)
			if (from == len(text) || !isWord(text[from])) && followsLocal(strings.TrimRight(text[:at], "0")) {
				return true
			}
		}
	}
	if !strings.Contains(text, ":/") && !strings.Contains(text, `:\`) && !strings.Contains(text, "/dev/") && !strings.Contains(text, "/inet") {
		return false
	}
	for _, re := range []*lazyregexp.Regexp{urlWithPort, deviceWithPort} {
		for _, m := range re.FindAllStringSubmatch(text, -1) {
			if isPort(m[2], ports) && mayBeLocal(m[1]) {
				return true
			}
		}
	}
	return false
}

var (
	// urlWithPort finds a URL's host and port, behind a scheme and perhaps a user.
	urlWithPort = lazyregexp.New(`[a-z][a-z0-9+.-]*:[/\\]{1,3}(?:[^/\\\s?#"'<>]*@)?(\[[^\]\s]*\]|[^/\\\s?#"'<>@:]*):([0-9]+)\b`)
	// urlWithoutPort finds a URL's scheme and host where no port follows.
	urlWithoutPort = lazyregexp.New(`\b(https?|wss?):[/\\]*(?:[^/\\\s?#"'<>]*@)?(\[[^\]\s]*\]|[^/\\\s?#"'<>@:]+):?(?:$|[/\\\s?#"'<>,;)\]}|&])`)
	// deviceWithPort finds a connection as shells and awk spell it.
	deviceWithPort = lazyregexp.New(`/(?:dev/(?:tcp|udp)|inet[46]?/(?:tcp|udp)/[^/]*)/([^/\s]+)/([0-9]+)\b`)
	// betweenHostAndPort matches what may stand between the two: host:port, host port, ("host", port), host=h;port=p.
	betweenHostAndPort = lazyregexp.New(`[:/ ,;&]\s*(?:(?:-{0,2}port|-p)\s*[=: ]?\s*)?$`)
)

const (
	longestHost = 300 // how many bytes before a port its host may begin
	longestGap  = 24  // how many bytes may stand between them
)

// impliesPort reports whether text contains a URL of this machine whose scheme implies one of the ports. Other host
// names do not count here: if one of the ports is 443, every page of the web would be denied.
func impliesPort(text string, ports []string) bool {
	if !implied(ports) {
		return false
	}
	return slices.ContainsFunc(urlWithoutPort.FindAllStringSubmatch(text, -1), func(m []string) bool {
		return isPort(schemePorts[m[1]], ports) && isLocal(m[2])
	})
}

// implied reports whether a URL can lead to one of the ports without naming it.
func implied(ports []string) bool {
	return slices.Contains(ports, "80") || slices.Contains(ports, "443")
}

var schemePorts = map[string]string{"http": "80", "ws": "80", "https": "443", "wss": "443"}

// followsLocal reports whether the text before a port ends with this machine as the host.
func followsLocal(before string) bool {
	near := before[max(0, len(before)-longestGap):]
	if !strings.ContainsAny(near, ":/ ,;&") {
		return false
	}
	at := betweenHostAndPort.FindStringIndex(near)
	if at == nil {
		return false
	}
	gap := near[at[0]:]
	before = strings.TrimSuffix(before[:len(before)-len(gap)], "]")
	start := len(before)
	for start > max(0, len(before)-longestHost) && isHostByte(before[start-1]) {
		start--
	}
	host := before[start:]
	return isLocal(host) && (!isNumber(host) || gap == ":" || gap == " " || gap == "/")
}

func isHostByte(b byte) bool { return isWord(b) || b == '.' || b == ':' || b == '-' || b == '%' }

func isWord(b byte) bool { return isDigit(b) || 'a' <= b && b <= 'z' || b == '_' }

// reading is one way to read a text. grams belong to it, or are nil.
type reading struct {
	text  string
	grams *textscan.Grams
}

// may reports whether the reading can name one of the ports.
func (r reading) may(ports []string) bool {
	return r.grams == nil || implied(ports) || slices.ContainsFunc(ports, r.grams.MayHold)
}

// readings returns the ways in which programs may read a text: as it stands, without the quotes that a shell or a
// language removes, and without the line breaks that URL parsers ignore.
func readings(t *facts.Text) []reading {
	text := t.Plain()
	out := []reading{{text: text}}
	if len(text) == len(t.Lower) && text == t.Lower {
		out[0].grams = t.Grams
	}
	if slices.ContainsFunc(quotes, func(quote byte) bool { return strings.IndexByte(text, quote) >= 0 }) {
		out = append(out, reading{text: unquoting.Replace(text)})
	}
	if strings.IndexByte(text, ':') >= 0 && strings.Contains(text, "://") && strings.ContainsAny(text, "\t\r\n") {
		out = append(out, reading{text: address.Unbroken(text)})
	}
	return out
}

var (
	quotes    = []byte("\"'`\\")
	unquoting = strings.NewReplacer(`"`, "", `'`, "", "`", "", `\`, "")
)

// isPort reports whether a decimal number, leading zeros or not, is one of the ports.
func isPort(number string, ports []string) bool {
	return slices.Contains(ports, strings.TrimLeft(number, "0"))
}

// isLocal reports whether a host is this machine, by name or number. If it contains colons, the last part counts alone
// too, because something may stand before the host.
func isLocal(host string) bool {
	if at := strings.LastIndexByte(host, ':'); at >= 0 && !strings.HasPrefix(host, "[") && isLocal(host[at+1:]) {
		return true
	}
	host = strings.TrimRight(strings.Trim(host, "[]"), ".")
	switch {
	case host == "localhost", strings.HasSuffix(host, ".localhost"), strings.HasPrefix(host, "localhost.localdomain"), strings.HasPrefix(host, "localhost4"), strings.HasPrefix(host, "localhost6"), strings.HasPrefix(host, "ip6-"):
		return true
	}
	addr, ok := address.IP(host)
	if !ok {
		return false
	}
	addr = address.Embedded(addr)
	return addr.IsLoopback() || addr.IsUnspecified() || slices.Contains(OwnAddresses(), addr)
}

// mayBeLocal is isLocal for a place that is known to hold a host. There a name may resolve to this machine, and no name
// at all means it.
func mayBeLocal(host string) bool {
	if isLocal(host) {
		return true
	}
	_, number := address.IP(strings.Trim(host, "[]"))
	return !number
}

// isNumber reports whether a host is a number without dots, which need not be an address.
func isNumber(host string) bool {
	return !strings.ContainsAny(host, ".:") && host != "" && isDigit(host[0])
}

func isDigit(b byte) bool { return '0' <= b && b <= '9' }

// commandReaches reports whether the words of a command, as the shell passes them, name one of the ports.
func commandReaches(c tools.CommandView, ports []string) bool {
	if namesAddress(address.Plain(strings.Join(c.Argv, " ")), ports) {
		return true
	}
	if implied(ports) && len(c.Argv) > 0 && fetches(c.Argv[0]) && fetchesLocal(c.Argv[1:]) {
		return true
	}
	network := c.Risk == permissions.Network || c.Risk.Exceeds(permissions.Network)
	var port, host, name bool
	for _, word := range c.Argv[min(1, len(c.Argv)):] {
		word = address.Plain(word)
		for _, part := range []string{word, word[strings.LastIndexByte(word, '=')+1:], Attached(word)} {
			port = port || isPort(part, ports)
			host = host || isLocal(part) && (network || !isNumber(part))
			name = name || bareName.MatchString(part)
			if network && isHostPort(part, ports) {
				return true
			}
		}
	}
	return port && (host || name && (c.Risk == permissions.Network || connects(c.Argv[0])))
}

// isHostPort reports whether a text names one of the ports at a host that may be this machine.
func isHostPort(text string, ports []string) bool {
	m := hostPort.FindStringSubmatch(text)
	return m != nil && isPort(m[2], ports) && mayBeLocal(m[1])
}

// fetchesLocal reports whether a word is an address of this machine without a scheme: http, which may lead to https.
func fetchesLocal(words []string) bool {
	option := false
	for _, word := range words {
		word = address.Plain(word)
		if at := authority.FindString(word); isLocal(at) && !(option && isNumber(at) && at == word) {
			return true
		}
		option = strings.HasPrefix(word, "-")
	}
	return false
}

// connects reports whether a program takes a host and a port as separate words.
func connects(program string) bool {
	name, _, _ := strings.Cut(program[strings.LastIndexByte(program, '/')+1:], ".")
	return programs.Find(programs.Canonical(strings.ToLower(name))).Has(programs.Connects)
}

var (
	// hostPort matches a word that begins with a host, or none, and a port, as network programs take it.
	hostPort = lazyregexp.New(`^(?:(?:tcp|udp|openssl|ssl|connect|socks)[a-z0-9-]*:)?(?:[^/\s@]*@)?(\[[^\]\s]*\]|[^/\s:@]*):([0-9]+)(?:$|[/?#,])`)
	// bareName matches a word that can be the name of a machine.
	bareName = lazyregexp.New(`^(?:[a-z0-9_-]+\.)*[a-z][a-z0-9_-]*\.?$`)
)

// Attached returns what follows the letter of a short option, such as 80 in -p80.
func Attached(word string) string {
	if len(word) > 2 && word[0] == '-' && word[1] != '-' {
		return word[2:]
	}
	return ""
}

// namesPair reports whether the arguments hold one of the ports and, in another member, this machine as a host. Host
// names count only if the members' own names say that they are a host and a port.
func namesPair(arguments []byte, ports []string) bool {
	var value any
	if len(arguments) == 0 || json.Unmarshal(arguments, &value) != nil {
		return false
	}
	var p pair
	p.look("", value, ports)
	return p.port && p.host || p.namedPort && p.namedHost
}

type pair struct{ port, host, namedPort, namedHost bool }

func (p *pair) look(name string, value any, ports []string) {
	switch value := value.(type) {
	case map[string]any:
		for name, value := range value {
			p.look(name, value, ports)
		}
	case []any:
		for _, value := range value {
			p.look(name, value, ports)
		}
	case float64:
		p.number(name, strconv.FormatFloat(value, 'f', -1, 64), ports)
	case string:
		text := strings.TrimSpace(address.Plain(value))
		p.number(name, text, ports)
		if text != "" && isLocal(text) && !isNumber(text) {
			p.host = true
		}
		if hostName.MatchString(name) && text != "" && !strings.ContainsAny(text, " /") && mayBeLocal(text) {
			p.namedHost = true
		}
	}
}

func (p *pair) number(name, text string, ports []string) {
	if isPort(text, ports) {
		p.port = true
		p.namedPort = p.namedPort || portName.MatchString(name)
	}
}

var (
	hostName = lazyregexp.New(`(?i)host|addr|server|domain|\bip\b`)
	portName = lazyregexp.New(`(?i)port`)
)

// Ends reports whether a text ends the processes that listen at one of the ports.
func Ends(a *tools.Analysis, ports []string) bool {
	ends := func(c tools.CommandView) bool {
		return len(c.Argv) > 0 && programs.Find(programs.Canonical(programOf(c.Argv[0]))).Has(programs.Kills)
	}
	return slices.ContainsFunc(a.Commands, ends) && slices.ContainsFunc(a.Commands, func(c tools.CommandView) bool {
		if len(c.Argv) == 0 || !findsByPort[programOf(c.Argv[0])] {
			return false
		}
		return slices.ContainsFunc(c.Argv[1:], func(word string) bool {
			return slices.ContainsFunc(strings.FieldsFunc(word, func(r rune) bool { return r < '0' || r > '9' }), func(n string) bool { return isPort(n, ports) })
		})
	})
}

// findsByPort holds programs that find or end processes by the ports they listen at.
var findsByPort = facts.WordsOf("lsof fuser ss netstat grep egrep rg awk kill-port fkill")

// programOf returns the name of a program, in lower case and without its folder.
func programOf(word string) string {
	return strings.ToLower(word[strings.LastIndexByte(word, '/')+1:])
}

// UnknownAddress returns the word of a network command that says where it connects, if callgate cannot tell where that
// is. It returns "" if there is none.
func UnknownAddress(c tools.CommandView) string {
	if len(c.Argv) == 0 {
		return ""
	}
	before := ""
	for _, word := range c.Argv[1:] {
		word = unquoting.Replace(word) // a word that cannot be told comes as it was written
		value := word
		if name, rest, ok := strings.Cut(word, "="); ok && strings.HasPrefix(word, "-") {
			before, value = name, rest
		}
		switch {
		case payloadOption.MatchString(before):
		case connects(c.Argv[0]) && unknownWord.MatchString(value),
			fetches(c.Argv[0]) && unknownWord.MatchString(authority.FindString(value)):
			return word
		}
		before = word
	}
	return ""
}

var (
	// authority matches the part of an address that says where it leads: everything before the path.
	authority = lazyregexp.New(`^(?:[A-Za-z][A-Za-z0-9+.-]*://)?[^/?#\s]*`)
	// unknownWord finds text that only running the command replaces, or that curl expands itself.
	unknownWord = lazyregexp.New("[$`{]|\\[[^\\]:]*\\]")
	// payloadOption matches options whose value is not an address.
	payloadOption = lazyregexp.New(`^(?:-[a-zA-Z]*[dHouAebcTFXmw]|--(?:data|header|form|json|output|user|cookie|upload|request|max-time|write-out|referer|post|body|output-document|directory|limit|retry)[a-z-]*)$`)
)

// fetches reports whether a program connects to the addresses among its words.
func fetches(program string) bool {
	return programs.Find(programs.Canonical(programOf(program))).Has(programs.Fetches)
}
