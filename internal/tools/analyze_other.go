package tools

import (
	"net/url"
	"strings"

	"callgate/permissions"
)

// isAddress reports whether s is an absolute address of the web.
func isAddress(s string) bool {
	scheme, _, ok := strings.Cut(s, "://")
	return ok && (strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https") || strings.EqualFold(scheme, "ftp"))
}

// url makes the subject of an address that is fetched.
func (b *builder) url(given string) {
	s := b.address(given)
	switch {
	case b.tool.Kind == KindFetch:
		b.own(s, source{})
	case b.tool.Bound:
		s.KindBound = true
		b.subject(s, CategoryNetwork, source{})
	default:
		b.denies(s)
	}
}

// address reads an address: what an allow must match is its normal form, and a deny looks at it as it is
// given and decoded, too. A "file:" address is a file that is read as well.
func (b *builder) address(given string) permissions.Subject {
	decides := permissions.Form{given}
	u, err := url.Parse(strings.TrimSpace(given))
	switch {
	case err != nil || strings.Contains(given, `\`) || strings.IndexFunc(given, isControl) >= 0:
		b.mark("ambiguous-url", "Programs disagree about what the address "+quote(given)+" means.")
	case strings.EqualFold(u.Scheme, "file"):
		for _, l := range b.locate(given) {
			b.fileSubject(KindReadFile, given, &l, false)
		}
	default:
		decides = permissions.Form{normalURL(u)}
		switch strings.ToLower(u.Scheme) {
		case "http", "https", "ws", "wss", "ftp", "ftps", "data":
		case "javascript", "vbscript":
			b.mark("code", "The address is program text.")
		default:
			b.mark("ambiguous-url", "It cannot be told what the address "+quote(given)+" opens.")
		}
		if u.User != nil {
			b.mark("ambiguous-url", "The address "+quote(given)+" hides its host behind a user name.")
		}
	}
	s := permissions.Subject{Kind: KindFetch, Value: given, Decides: decides, Risk: permissions.Network}
	if decides[0] != given {
		s.Also = []permissions.Form{{given, decides[0]}}
	}
	if decoded := percentDecoded(decides[0]); decoded != decides[0] {
		s.Also = append(s.Also, permissions.Form{decoded})
	}
	return s
}

// normalURL returns the address with scheme and host in lower case, without a default port and without
// dot segments.
func normalURL(u *url.URL) string {
	n := *u
	n.Scheme, n.Host = strings.ToLower(n.Scheme), strings.ToLower(n.Host)
	if p := n.Port(); p == "80" && n.Scheme == "http" || p == "443" && n.Scheme == "https" {
		n.Host = strings.TrimSuffix(n.Host, ":"+p)
	}
	n.Host = strings.TrimSuffix(n.Host, ".")
	if strings.Contains(n.Path, "/.") {
		n = *n.ResolveReference(&url.URL{Path: n.Path, RawPath: n.RawPath, RawQuery: n.RawQuery, Fragment: n.Fragment})
	}
	return n.String()
}

// input makes the subject of text that goes to a running process, which may be a shell or any interpreter.
func (b *builder) input(given string) {
	b.note(Input, given)
	if given == "" && b.tool.Kind != KindProcessInput {
		return
	}
	b.mark("process-input", "Text goes to a running process: what it does depends on what that process is.")
	s := permissions.Subject{Kind: KindProcessInput, Value: given, Decides: permissions.Form{given}}
	if b.tool.Kind == KindProcessInput {
		b.own(s, source{})
		return
	}
	s.KindBound = b.tool.Bound && !b.tool.remote
	b.subject(s, CategoryTerminalWrite, source{})
}

// code makes the subject of source text that the tool executes.
func (b *builder) code(given string) {
	if strings.TrimSpace(given) == "" {
		return
	}
	b.note(Code, given)
	b.mark("code", "The call executes program text.")
	s := permissions.Subject{Value: given, Decides: permissions.Form{given}, Effect: "program text"}
	if b.tool.Kind != "" {
		b.own(s, source{})
		return
	}
	b.raise(permissions.Unknown)
}

// raise raises the risk of the subject that stands for the whole tool.
func (b *builder) raise(r permissions.Risk) {
	b.floor = b.floor.Worse(r)
	b.out.Risk = b.out.Risk.Worse(r)
	if len(b.out.Subjects) > 0 {
		b.out.Subjects[0].Risk = b.out.Subjects[0].Risk.Worse(r)
	}
}

// statements raises the floor to the risk of the SQL that a tool without kind is given.
func (b *builder) statements(list []argument) {
	for _, a := range list {
		if b.tool.Roles[a.name] != SQL {
			continue
		}
		for _, s := range b.strings(a) {
			b.note(SQL, s)
			b.floor = b.floor.Worse(classifySQL(s))
		}
	}
}

// resource makes the subjects of a resource URI.
func (b *builder) resource(uri string) {
	b.note(URI, uri)
	s := permissions.Subject{Value: uri, Decides: permissions.Form{uri}, Risk: b.floor}
	if decoded := percentDecoded(uri); decoded != uri {
		s.Also = append(s.Also, permissions.Form{decoded})
	}
	b.own(s, source{})
	if _, ok := fileURL(uri); ok {
		for _, l := range b.locate(uri) {
			b.fileSubject(KindReadFile, uri, &l, false)
		}
	}
}
