package inspect

import (
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"callgate/internal/lazyregexp"
	"callgate/shellparse/internal/walk"
	"callgate/shellparse/internal/word"
	"callgate/shellparse/programs"
)

// inspectLookup records names that are sent to a resolver: a name can carry data out.
func inspectLookup(a *walk.Walker, c *walk.Call, _ *word.Scanned) {
	for _, w := range c.Argv[1:] {
		if c.Name == "getent" && (w.Text == "shadow" || w.Text == "gshadow") {
			a.Reads(c, word.Lit("/etc/"+w.Text))
		}
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

// inspectFetch records addresses that are no web pages, requests that go to several hosts at once, and requests that
// change something there.
func inspectFetch(a *walk.Walker, c *walk.Call, s *word.Scanned) {
	hosts, away := map[string]bool{}, false
	addresses, items := slices.Clone(s.Operands), []word.Word(nil)
	if c.Is(programs.Talks) {
		addresses, items = request(addresses)
	}
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
		// A value that depends on the run can be anything that the line has read before.
		if away && h.Has && !h.Value.Known && (h.Opt.Does == 'u' || h.Opt.Last == "--data-raw" || h.Opt.Last == "--form-string") {
			c.EffectOf("option "+h.Name+" "+h.Value.Text, h)
		}
	}
	if away {
		sends(c, s, items)
	}
	if len(hosts) > 1 {
		c.EffectAt("several hosts", addresses[len(addresses)-1])
	}
	keeps(a, c, s, addresses)
}

// sends records the first word that makes a request to another machine change something there. A rule has to spell it
// out: a rule for reading from a host does not cover writing to it.
func sends(c *walk.Call, s *word.Scanned, items []word.Word) {
	_, query := s.Find("-G", "--get")
	for _, h := range s.Hits {
		switch name := h.Opt.Last; {
		case name == "--request" || name == "--method":
			if h.Value.Known && readingMethods[strings.ToUpper(h.Value.Text)] {
				continue
			}
		case query || !slices.Contains(bodies, name):
			continue
		}
		c.EffectOf("option "+h.Name+" "+h.Value.Text, h)
		return
	}
	if c.Is(programs.Talks) && c.Sc.Input.Kind != word.InputNone {
		c.Effect("sends its input")
	}
	for _, w := range items {
		if !readingMethods[strings.ToUpper(w.Text)] && !besideBody.MatchString(w.Text) {
			c.EffectAt("sends "+w.Text, w)
			return
		}
	}
}

// request splits the operands of HTTPie and xh into the address and the rest, a method and items.
func request(operands []word.Word) (address, items []word.Word) {
	if len(operands) == 0 {
		return nil, nil
	}
	at := 0
	if len(operands) > 1 && methodName.MatchString(operands[0].Text) {
		at = 1
	}
	return []word.Word{operands[at]}, slices.Concat(operands[:at], operands[at+1:])
}

// bodies lists options whose value is sent in the request's body.
var bodies = strings.Fields("--data --data-ascii --data-binary --data-raw --data-urlencode --form --form-string --json --post-data --body-data --raw")

// readingMethods lists the HTTP methods that change nothing.
var readingMethods = word.Set("GET HEAD OPTIONS")

// methodName matches what HTTPie and xh recognize as a method before an address.
var methodName = lazyregexp.New(`^[a-zA-Z]+$`)

// besideBody matches items outside a request's body: a header, or a part of the query. One with @ is out of a file.
var besideBody = lazyregexp.New(`^[\w.-]+(?:==(?:[^@]|$)|:[^=@])`)

// portAlone matches how HTTPie and xh spell an address of this machine. They put localhost before whatever follows a
// colon, so :.a.example is another machine.
var portAlone = lazyregexp.New(`^:[0-9]*(?:/|$)`)

// fetches checks one address. It returns its host, "" if nothing of it is known, and whether that is another machine.
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
		// The part after the known text could still belong to the host.
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
	away = !local(strings.ToLower(name)) && !portAlone.MatchString(text)
	if away && !w.Known {
		c.EffectAt("address "+w.Text, w)
	}
	if host == "" {
		host = "/" // an address without a host counts as one too
	}
	return host, away
}

// keeps records the files that are named by the addresses they come from.
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

// local reports whether a host is this machine.
func local(host string) bool {
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && (ip.IsLoopback() || ip.IsUnspecified())
}
