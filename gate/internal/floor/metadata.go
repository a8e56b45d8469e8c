package floor

import (
	"fmt"
	"slices"
	"strings"

	"callgate/gate/internal/companions"
	"callgate/gate/tools"
	"callgate/internal/address"
	"callgate/permissions"
	"callgate/shellparse/programs"
)

// asksCloud looks for addresses of metadata services.
func (f *check) asksCloud() string {
	if len(f.a.Commands) > 0 {
		for _, c := range f.a.Commands {
			if !c.Risk.Exceeds(permissions.Write) {
				continue
			}
			for _, word := range slices.Concat(c.Argv[min(1, len(c.Argv)):], c.Around, c.Writes, c.Reads, c.Connects) {
				if m := proxyCommand.FindStringSubmatch(word); m != nil {
					word = strings.ReplaceAll(m[1], " ", ",")
				}
				if at := metadataIn(word, true); at != "" {
					return fmt.Sprintf("leads to %s, where clouds give out the machine's credentials", tools.Visible(at))
				}
			}
			if is := About(Program(c)); c.Input != "" && (c.Code || is.Has(programs.Fetches) || is.Has(programs.Connects)) {
				if at := metadataIn(c.Input, false); at != "" {
					return fmt.Sprintf("leads to %s, where clouds give out the machine's credentials", tools.Visible(at))
				}
			}
		}
	}
	if at := f.proxied(); at != "" {
		return fmt.Sprintf("goes by way of %s, where clouds give out the machine's credentials", tools.Visible(at))
	}
	if f.call.Tool.Kind == tools.KindShell || quiet(f.call.Tool) && !f.a.Fetches() {
		return ""
	}
	for _, t := range f.call.Said() {
		if at := metadataIn(t.Said, f.call.Tool.Kind == tools.KindConnect); at != "" {
			return fmt.Sprintf("leads to %s, where clouds give out the machine's credentials", tools.Visible(at))
		}
	}
	return ""
}

// proxied returns the metadata service that a variable names as a proxy, or "" if none does.
func (f *check) proxied() string {
	if !slices.ContainsFunc(f.a.Commands, func(c tools.CommandView) bool { return c.Risk.Exceeds(permissions.Write) }) {
		return ""
	}
	for _, t := range f.call.Said() {
		if !t.Holds("proxy") {
			continue
		}
		for _, m := range proxyVariable.FindAllStringSubmatch(t.Said, 16) {
			if at := metadataIn(m[1], true); at != "" {
				return at
			}
		}
	}
	return ""
}

// metadataIn returns the metadata service that a text leads to, or "". If word is true, the text is a word of a
// command, where a bare host is an address.
func metadataIn(text string, word bool) string {
	if text = text[:min(len(text), maxAddressText)]; !mayNameMetadata(text) {
		return ""
	}
	candidates := EmbeddedAddresses(address.Unbroken(text), len(text))
	if strings.Contains(text, "/inet") {
		for _, m := range inetHost.FindAllStringSubmatch(text, 16) {
			candidates = append(candidates, "http://"+m[1]+"/")
		}
	}
	if whole := strings.TrimSpace(text); !strings.Contains(whole, " ") {
		whole = whole[:min(len(whole), maxBareAddress)]
		known, _, _ := strings.Cut(whole, "$") // a variable can hold the path
		candidates = append(candidates, whole, known)
		if word {
			_, value, _ := strings.Cut(whole, "=")
			candidates = append(candidates, value, strings.TrimLeft(whole, "-abcdefghijklmnopqrstuvwxyz"), companions.Attached(whole))
			if !strings.Contains(whole, "://") {
				candidates = append(candidates, strings.FieldsFunc(whole, func(r rune) bool { return strings.ContainsRune(",:@=", r) })...)
				if rest, ok := strings.CutPrefix(whole, "/dev/"); ok { // tcp/HOST/PORT
					candidates = append(candidates, strings.Split(rest, "/")...)
				}
			}
		}
	}
	seen := map[string]bool{}
	for _, c := range candidates {
		if plain := plainHost.FindString(c); plain != "" { // such addresses differ only in what does not matter here
			if seen[plain] {
				continue
			}
			seen[plain] = true
		}
		for _, u := range address.Readings(c) {
			if isMetadata(u.Host, word || strings.Contains(c, ":") && strings.ContainsAny(c, `/\`)) {
				return u.Host
			}
		}
	}
	return ""
}

// EmbeddedAddresses returns the first n addresses with a scheme in a text: what matches
// [A-Za-z][A-Za-z0-9+.-]*:[/\\]{1,4}[^\s"'<>]+. A regular expression takes a hundred times longer on a text that has
// none.
func EmbeddedAddresses(text string, n int) (list []string) {
	for from, at := 0, 0; len(list) < n; {
		colon := strings.IndexByte(text[at:], ':')
		if colon < 0 {
			return list
		}
		colon += at
		at = colon + 1
		if at == len(text) || text[at] != '/' && text[at] != '\\' {
			continue
		}
		start := colon
		for start > from && isSchemeByte(text[start-1]) {
			start--
		}
		for start < colon && !isLetter(text[start]) {
			start++
		}
		end := at
		for end < len(text) && strings.IndexByte("\t\n\f\r \"'<>", text[end]) < 0 {
			end++
		}
		if start < colon && end-at > 1 {
			list = append(list, text[start:end])
			from, at = end, end
		}
	}
	return list
}

// isMetadata reports whether a host gives out credentials of the machine. A name without dots counts only if certain is
// true: a host is sure to stand there.
func isMetadata(host string, certain bool) bool {
	for _, ip := range address.IPs(host) {
		if slices.ContainsFunc(metadataNetworks, func(net prefix) bool { return net.Contains(ip) }) {
			return true
		}
	}
	return metadataNames[host] && (certain || strings.Contains(host, ".")) || metadataInName.MatchString(host)
}

func isSchemeByte(c byte) bool {
	return isLetter(c) || '0' <= c && c <= '9' || c == '+' || c == '.' || c == '-'
}
