package inspect

import (
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"callgate/shellparse/internal/walk"
	"callgate/shellparse/internal/word"
	"callgate/shellparse/programs"
)

// inspectLookup notes names that are sent to a resolver: a name can carry data out.
func inspectLookup(_ *walk.Walker, c *walk.Call, _ *word.Scanned) {
	for _, w := range c.Argv[1:] {
		if !w.Known {
			c.EffectAt("network "+w.Text, w)
			continue
		}
		if strings.HasPrefix(w.Text, "-") || strings.HasPrefix(w.Text, "+") || !strings.Contains(w.Text, ".") {
			continue
		}
		if w.Text == "localhost" || strings.HasSuffix(w.Text, ".localhost") || strings.HasSuffix(w.Text, ".local") {
			continue
		}
		if _, err := netip.ParseAddr(strings.TrimPrefix(w.Text, "@")); err == nil {
			continue
		}
		if word.IsNumber(strings.Replace(w.Text, ".", "", 1)) {
			continue
		}
		c.EffectAt("network "+w.Text, w)
	}
}

// inspectFetch notes addresses that are no web pages, and requests that go to several places at once.
func inspectFetch(a *walk.Walker, c *walk.Call, s *word.Scanned) {
	hosts, away := map[string]bool{}, false
	addresses := slices.Clone(s.Operands)
	for _, h := range s.Hits {
		switch {
		case h.Opt.Last == "--url":
			addresses = append(addresses, h.Value)
		case h.Opt.Last == "--write-out" && strings.Contains(h.Value.Text, "%output{"):
			c.EffectOf("option "+h.Name+" "+h.Value.Text, h) // it writes that file
		}
	}
	for _, w := range addresses {
		if host, elsewhere := fetches(a, c, w); host != "" {
			hosts[host] = true
			away = away || elsewhere
		}
	}
	for _, h := range s.Hits {
		// What depends on the run can be anything that the line read before.
		if away && h.Has && !h.Value.Known && (h.Opt.Does == 'u' || h.Opt.Last == "--data-raw" || h.Opt.Last == "--form-string") {
			c.EffectOf("option "+h.Name+" "+h.Value.Text, h)
		}
	}
	if len(hosts) > 1 && c.Name != "http" && c.Name != "https" {
		c.EffectAt("several hosts", addresses[len(addresses)-1])
	}
	keeps(a, c, s, addresses)
}

// fetches looks at one address, and returns its host and whether that is another machine; "" when nothing of it is
// known.
func fetches(a *walk.Walker, c *walk.Call, w word.Word) (host string, away bool) {
	text := w.Text
	if !w.Known {
		if text = w.Head; text == "" {
			c.EffectAt("address "+w.Text, w)
			return "", false
		}
	}
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok {
		rest = text
	} else if sch := strings.ToLower(scheme); sch != "http" && sch != "https" {
		c.EffectAt("address "+w.Text, w)
		if sch == "file" {
			a.Reads(c, word.Word{Text: strings.TrimPrefix(rest, "localhost"), Known: w.Known})
		}
	}
	host, _, slash := strings.Cut(rest, "/")
	if !w.Known && !slash {
		// What follows the known part could still belong to the host.
		c.EffectAt("address "+w.Text, w)
	}
	name, _, _ := strings.Cut(host, ":")
	if u, err := url.Parse("http://" + rest); err == nil && u.Host != "" {
		host, name = u.Host, u.Hostname()
		if u.User != nil {
			c.EffectAt("address "+w.Text, w)
		}
	}
	if strings.ContainsAny(host, "{[") && !strings.HasPrefix(host, "[") {
		c.EffectAt("address "+w.Text, w)
	}
	host = strings.ToLower(host)
	away = !local(strings.ToLower(name))
	if away && !w.Known {
		c.EffectAt("address "+w.Text, w)
	}
	if host == "" {
		host = "/" // no host, and still one more
	}
	return host, away
}

// keeps notes the files that are named by the addresses they come from.
func keeps(a *walk.Walker, c *walk.Call, s *word.Scanned, addresses []word.Word) {
	how := programs.Find(c.Name).Keeps
	if how == nil || how.When != nil && !slices.ContainsFunc(s.Hits, func(h word.Hit) bool { return slices.Contains(how.When, h.Name) }) {
		return
	}
	if _, ok := s.Find(how.Unless...); ok {
		return
	}
	for _, w := range addresses {
		fetched(a, c, s, w, how)
	}
}

// local says that a host is this machine.
func local(host string) bool {
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && (ip.IsLoopback() || ip.IsUnspecified())
}
