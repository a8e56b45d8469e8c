package address

import (
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
	"golang.org/x/text/unicode/norm"
)

// names maps host names to the form that is looked up, as browsers do.
var names = idna.New(idna.MapForLookup(), idna.Transitional(false), idna.StrictDomainName(false), idna.CheckHyphens(false),
	idna.CheckJoiners(true), idna.BidiRule())

// Host returns the normal form of a host as the URL standard reads it: decoded, in lower case and ASCII, without a
// trailing dot. An IP address gets its one usual spelling, without zone. An IPv6 address that embeds an IPv4 address
// becomes that. ok is false if the standard does not accept the host.
func Host(host string) (normal string, ok bool) {
	if inner, found := strings.CutPrefix(host, "["); found {
		inner, found = strings.CutSuffix(inner, "]")
		addr, err := netip.ParseAddr(inner)
		if !found || err != nil || !addr.Is6() || addr.Zone() != "" {
			return "", false
		}
		return spell(addr), true
	}
	host = Unescape(host)
	if !utf8.ValidString(host) {
		return "", false
	}
	ascii, err := names.ToASCII(host)
	if err != nil && (!isASCII(host) || strings.Contains(strings.ToLower(host), "xn--")) {
		return "", false
	}
	if err != nil {
		ascii = strings.ToLower(host) // the error concerns the lengths of labels, which nobody checks
	}
	if ascii == "" || strings.IndexFunc(ascii, forbidden) >= 0 {
		return "", false
	}
	if endsInNumber(ascii) {
		addr, ok := ipv4(ascii)
		if !ok {
			return "", false
		}
		return addr.String(), true
	}
	ascii = strings.TrimSuffix(ascii, ".")
	return ascii, ascii != "" && !strings.HasSuffix(ascii, ".") // an empty label is no valid end
}

// spell returns the only spelling of an address: that of IPv4 wherever the address means one.
func spell(addr netip.Addr) string {
	if addr = Embedded(addr); addr.Is4() {
		return addr.String()
	}
	return "[" + addr.String() + "]"
}

// Embedded returns the IPv4 address that an IPv6 address stands for (mapped, compatible, translated by NAT64, 6to4). It
// returns other addresses unchanged, but without zone.
func Embedded(addr netip.Addr) netip.Addr {
	addr = addr.WithZone("").Unmap()
	if !addr.Is6() {
		return addr
	}
	b := addr.As16()
	switch {
	case [12]byte(b[:12]) == [12]byte{} && (b[12] != 0 || b[13] != 0 || b[14] != 0): // ::127.0.0.1
		return netip.AddrFrom4([4]byte(b[12:]))
	case [12]byte(b[:12]) == [12]byte{0, 0x64, 0xff, 0x9b}: // 64:ff9b::127.0.0.1
		return netip.AddrFrom4([4]byte(b[12:]))
	case [2]byte(b[:2]) == [2]byte{0x20, 0x02}: // 2002:7f00:1::
		return netip.AddrFrom4([4]byte(b[2:6]))
	}
	return addr
}

// forbidden reports whether r cannot stand in a host name.
func forbidden(r rune) bool {
	return r <= ' ' || r == 0x7f || strings.ContainsRune("#%/:<>?@[\\]^|", r)
}

// endsInNumber reports whether the last label is a number, so that the host must be an IPv4 address.
func endsInNumber(host string) bool {
	labels := strings.Split(host, ".")
	if last := len(labels) - 1; last > 0 && labels[last] == "" {
		labels = labels[:last]
	}
	last := labels[len(labels)-1]
	if last == "" {
		return false
	}
	if strings.Trim(last, "0123456789") == "" {
		return true
	}
	_, err := number(last)
	return err == nil
}

// ipv4 reads an IPv4 address as the standard does: one to four numbers, decimal, octal or hexadecimal.
func ipv4(host string) (netip.Addr, bool) {
	return fromParts(strings.TrimSuffix(host, "."), number, true)
}

// fromParts joins the parts of an IPv4 address. Each part is one byte, and the last fills the remaining bytes. With
// fits, it must fit into them.
func fromParts(host string, read func(string) (uint64, error), fits bool) (netip.Addr, bool) {
	parts := strings.Split(host, ".")
	if len(parts) > 4 {
		return netip.Addr{}, false
	}
	var value uint64
	left := 8 * (5 - len(parts)) // bits for the last part
	for i, part := range parts {
		n, err := read(part)
		last := i == len(parts)-1
		switch {
		case err != nil || !last && n > 255 || last && fits && n >= 1<<left:
			return netip.Addr{}, false
		case last:
			value = value<<left | n
		default:
			value = value<<8 | n
		}
	}
	return netip.AddrFrom4([4]byte{byte(value >> 24), byte(value >> 16), byte(value >> 8), byte(value)}), true
}

// number reads one part of an IPv4 address as the standard does.
func number(part string) (uint64, error) {
	base := 10
	switch {
	case part == "":
		return 0, strconv.ErrSyntax
	case len(part) > 1 && part[0] == '0' && part[1]|0x20 == 'x':
		if part, base = part[2:], 16; part == "" {
			return 0, nil
		}
	case len(part) > 1 && part[0] == '0':
		part, base = part[1:], 8
	}
	if strings.ContainsAny(part, "+-_") {
		return 0, strconv.ErrSyntax
	}
	return strconv.ParseUint(part, base, 64)
}

// IP reads an IP address in any form that some resolver accepts, such as 127.1, 0x7f000001, 0177.0.0.1 and numbers that
// are too large. It is for denials. host is in its plain form, without brackets.
func IP(host string) (netip.Addr, bool) {
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr.WithZone("").Unmap(), true
	}
	return fromParts(strings.TrimRight(host, "."), looseNumber, false) // of more than 32 bits, resolvers that overflow keep the lower 32
}

// looseNumber reads one part of an address: decimal, 0x and hexadecimal, or 0 and octal or else decimal.
func looseNumber(part string) (uint64, error) {
	n, err := number(part)
	if err != nil && len(part) > 1 && part[0] == '0' {
		return strconv.ParseUint(part, 10, 64)
	}
	return n, err
}

// Plain returns text in lower case, with escapes decoded, and with the plain forms of characters that resolvers treat
// as the same.
func Plain(text string) string {
	for range 2 { // decoded text may be encoded itself
		text = Unescape(text)
	}
	if !isASCII(text) {
		text = norm.NFKC.String(text)
		text = strings.Map(func(r rune) rune {
			switch {
			case r == '。': // the only IDNA dot that NFKC leaves
				return '.'
			case unicode.Is(unicode.Cf, r): // soft hyphens, joiners, direction marks
				return -1
			}
			return r
		}, text)
	}
	return strings.ToLower(text)
}

// Unescape decodes %XX once and leaves every other % as it is.
func Unescape(text string) string {
	if !strings.Contains(text, "%") {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '%' && i+2 < len(text) {
			if decoded, err := url.PathUnescape(text[i : i+3]); err == nil {
				b.WriteString(decoded)
				i += 2
				continue
			}
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
