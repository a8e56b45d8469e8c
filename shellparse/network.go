package shellparse

import (
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// inspectLookup notes names that are sent to a resolver: a name can carry data out.
func inspectLookup(_ *analysis, c *call, _ *scanned) {
	for _, w := range c.argv[1:] {
		if !w.known {
			c.effectAt("network "+w.text, w)
			continue
		}
		if strings.HasPrefix(w.text, "-") || strings.HasPrefix(w.text, "+") || !strings.Contains(w.text, ".") {
			continue
		}
		if w.text == "localhost" || strings.HasSuffix(w.text, ".localhost") || strings.HasSuffix(w.text, ".local") {
			continue
		}
		if _, err := netip.ParseAddr(strings.TrimPrefix(w.text, "@")); err == nil {
			continue
		}
		if isNumber(strings.Replace(w.text, ".", "", 1)) {
			continue
		}
		c.effectAt("network "+w.text, w)
	}
}

// inspectFetch notes addresses that are no web pages, and requests that go to several places at once.
func inspectFetch(a *analysis, c *call, s *scanned) {
	hosts, away := map[string]bool{}, false
	for _, w := range s.operands {
		if host, elsewhere := a.fetches(c, w); host != "" {
			hosts[host] = true
			away = away || elsewhere
		}
	}
	for _, h := range s.hits {
		// What depends on the run can be anything that the line read before.
		if away && h.has && !h.value.known && (h.opt.Does == 'u' || h.opt.Last == "--data-raw" || h.opt.Last == "--form-string") {
			c.effectOf("option "+h.name+" "+h.value.text, h)
		}
	}
	if v, ok := s.find("--url"); ok && !v.known {
		c.effectAt("address "+v.text, v)
	}
	if len(hosts) > 1 && c.name != "http" && c.name != "https" {
		c.effectAt("several hosts", s.operands[len(s.operands)-1])
	}
	a.keeps(c, s)
}

// fetches looks at one address, and returns its host and whether that is another machine; "" when nothing of it is known.
func (a *analysis) fetches(c *call, w word) (host string, away bool) {
	text := w.text
	if !w.known {
		if text = w.head; text == "" {
			c.effectAt("address "+w.text, w)
			return "", false
		}
	}
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok {
		rest = text
	} else if sch := strings.ToLower(scheme); sch != "http" && sch != "https" {
		c.effectAt("address "+w.text, w)
		if sch == "file" {
			a.reads(c, word{text: strings.TrimPrefix(rest, "localhost"), known: w.known})
		}
	}
	host, _, slash := strings.Cut(rest, "/")
	if !w.known && !slash {
		// What follows the known part could still belong to the host.
		c.effectAt("address "+w.text, w)
	}
	if u, err := url.Parse("http://" + rest); err == nil && u.Host != "" {
		host = u.Host
		if u.User != nil {
			c.effectAt("address "+w.text, w)
		}
	}
	if strings.ContainsAny(host, "{[") && !strings.HasPrefix(host, "[") {
		c.effectAt("address "+w.text, w)
	}
	host = strings.ToLower(host)
	name, _, _ := strings.Cut(host, ":")
	away = !local(name)
	if away && !w.known {
		c.effectAt("address "+w.text, w)
	}
	if host == "" {
		host = "/" // no host, and still one more
	}
	return host, away
}

// keeps notes the files that are named by the addresses they come from.
func (a *analysis) keeps(c *call, s *scanned) {
	named := func(h hit) bool {
		return h.name == "-O" || h.name == "--remote-name" || h.name == "--remote-name-all" || h.name == "-J"
	}
	folder := []string{"--output-dir"}
	switch c.name {
	case "curl":
		if !slices.ContainsFunc(s.hits, named) {
			return
		}
	case "wget":
		if _, ok := s.find("-O", "--output-document", "--spider"); ok {
			return
		}
		folder = []string{"-P", "--directory-prefix"}
	default:
		return
	}
	for _, w := range s.operands {
		a.fetched(c, s, w, folder...)
	}
}

// local says that a host is this machine.
func local(host string) bool {
	if host == "localhost" || strings.HasSuffix(host, ".localhost") || host == "[" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && (ip.IsLoopback() || ip.IsUnspecified())
}
