package tools

import (
	"net/netip"
	"slices"
	"strings"

	"callgate/gate/tools/internal/arguments"
	"callgate/gate/tools/internal/commands"
	"callgate/gate/tools/internal/wording"
	"callgate/gate/tools/kinds"
	"callgate/gate/tools/workspace"
	"callgate/internal/address"
	"callgate/internal/lazyregexp"
	"callgate/internal/loopback"
	"callgate/permissions"
)

// isAddress reports whether s is an absolute address of the web, for a program that reads it by the standard.
func isAddress(s string) bool {
	_, ok := address.Parse(s)
	return ok
}

// url makes the subject of an address that is fetched.
func (b *files) url(given string) {
	s := b.address(given)
	switch {
	case b.record.tool.Kind == KindFetch:
		b.record.own(s, source{})
	case b.record.tool.Bound:
		s.KindBound = true
		b.record.subject(s, CategoryNetwork, source{})
	default:
		b.record.denies(s)
	}
}

// addressesIn returns the addresses that a text names. If anything else in the text could be an address, it returns the
// whole text as one unreadable address.
func addressesIn(text string) (list []string) {
	for word := range strings.FieldsSeq(text) {
		switch {
		case strings.Count(word, "://") > 1: // programs disagree about where one ends
			return []string{text}
		case strings.Contains(word, "://"):
			list = append(list, word)
		case strings.ContainsAny(strings.TrimRight(word, ".,!?;:"), ".:/@[%\\") || !wording.IsASCII(word):
			return []string{text}
		}
	}
	if len(list) == 0 {
		return []string{text}
	}
	return list
}

// address makes the subject of an address. An allow must match its normal form. A deny looks at it in every way in
// which programs read it. A "file:" address is also a file that is read.
func (b *files) address(given string) permissions.Subject {
	s := permissions.Subject{Kind: KindFetch, Value: given, Decides: permissions.Form{given}, Risk: permissions.Network}
	standard, ok := address.Parse(given)
	cleaned := address.Unbroken(strings.TrimSpace(given))
	scheme, _, _ := strings.Cut(strings.ToLower(cleaned), ":")
	switch {
	case !ok && scheme == "file":
		for _, l := range b.locate(cleaned) {
			b.fileSubject(KindReadFile, given, &l, false)
		}
		if cleaned != given || strings.Contains(given, `\`) {
			b.record.mark("ambiguous-url", "Programs disagree about what the address "+wording.Quote(given)+" means.")
		}
	case !ok && scheme == "data":
	case !ok && (scheme == "javascript" || scheme == "vbscript"):
		b.record.mark("code", "The address is program text.")
	case !ok:
		b.record.mark("ambiguous-url", "callgate cannot tell what the address "+wording.Quote(given)+" opens.")
	default:
		s.Decides = standard.Spellings()
		if standard.User {
			b.record.mark("ambiguous-url", "The address "+wording.Quote(given)+" hides its host behind a user name.")
		}
		if address.Ambiguous(given) || strings.Contains(given, `\`) || strings.IndexFunc(given, wording.IsControl) >= 0 {
			b.record.mark("ambiguous-url", "Programs disagree about what the address "+wording.Quote(given)+" means.")
		}
	}
	if also := spellingsOf(given); len(also) > 1 || also[0] != s.Decides[0] {
		s.Also = []permissions.Form{also}
	}
	return s
}

// spellingsOf returns an address as it is given and in all the ways in which programs read it.
func spellingsOf(given string) permissions.Form {
	also := permissions.Form{given}
	for _, u := range address.Readings(given) {
		also = append(also, u.Spellings()...)
	}
	for _, form := range also {
		if decoded := workspace.PercentDecoded(form); !slices.Contains(also, decoded) {
			also = append(also, decoded)
		}
	}
	return also
}

// connection makes the subject of a connection that the shell opens: one to another machine can carry anything there.
func (b *files) connection(given string) permissions.Subject {
	s := b.address(given)
	if to, ok := address.Parse(given); !ok || !loopback.Host(to.Host) {
		s.Risk = permissions.Unknown
	}
	return s
}

// peer makes the subject of a network connection: HOST, or HOST:PORT where the port is not that of https. A deny on the
// host, or on its address as a web page, holds too.
func (b *files) peer(given string) {
	s := permissions.Subject{Value: given, Decides: permissions.Form{given}, Risk: permissions.Network}
	web, ok := address.Parse("https://" + given + "/")
	if !ok {
		b.record.mark("ambiguous-url", "callgate cannot tell what "+wording.Quote(given)+" is the name of.")
	} else if web.Host != given {
		s.Also = []permissions.Form{{given, web.Host}}
	}
	b.record.own(s, source{})
	for _, scheme := range []string{"https://", "http://"} {
		b.record.denies(b.address(scheme + given + "/"))
	}
	if slices.ContainsFunc(address.IPs(web.Host), func(ip netip.Addr) bool { return !loopback.Public(ip) }) || loopback.Host(web.Host) {
		b.record.mark("private-address", "The connection leads to this machine or to a private network.")
	}
}

// openSandbox makes the subjects of a file that a server may use from its next start on. Rules that deny the file to
// tools deny it here too.
func (b *builder) openSandbox(given string) {
	b.record.own(permissions.Subject{Value: given, Decides: permissions.Form{given}, Risk: b.record.floor}, source{})
	for _, l := range b.files.locate(given) {
		if b.record.tool.Kind == kinds.KindSandboxRead {
			b.files.deny(KindReadFile, &l)
			continue
		}
		b.files.deny(KindWriteFile, &l)
		b.files.deny(KindEditFile, &l)
		b.files.markPlaces(&l)
	}
}

// input makes the subject of text that goes to a running process, which may be a shell or any interpreter.
func (b *builder) input(given string) {
	b.record.note(kinds.Input, given)
	if given == "" && b.record.tool.Kind != KindProcessInput {
		return
	}
	b.record.mark("process-input", "Text goes to a running process: what it does depends on what that process is.")
	s := permissions.Subject{Kind: KindProcessInput, Value: given, Decides: permissions.Form{given}}
	if b.record.tool.Kind == KindProcessInput {
		b.record.own(s, source{})
		return
	}
	s.KindBound = b.record.tool.Bound && !b.record.tool.remote
	b.record.subject(s, kinds.CategoryTerminalWrite, source{})
}

// arithmetic matches text that can only be a sum in any language: 3*(4+5).
var arithmetic = lazyregexp.New(`^[( ]*[0-9]+(?:\.[0-9]+)?(?:[ )]*(?: / |[-+*%,^])[ (]*[0-9]+(?:\.[0-9]+)?)*[ )]*$`)

// code makes the subject of source text that the tool executes.
func (b *builder) code(given string) {
	if strings.TrimSpace(given) == "" || arithmetic.MatchString(given) {
		return
	}
	b.record.note(kinds.Code, given)
	b.record.mark("code", "The call executes program text.")
	s := permissions.Subject{Value: given, Decides: permissions.Form{given}, Effects: []permissions.Effect{{Text: "program text"}}}
	if b.record.tool.Kind != "" {
		b.record.own(s, source{})
		return
	}
	b.record.raise(permissions.Unknown)
}

// raise raises the risk of the subject that stands for the whole tool.
func (b *record) raise(r permissions.Risk) {
	b.floor = b.floor.Worse(r)
	b.out.Risk = b.out.Risk.Worse(r)
	if len(b.out.Subjects) > 0 {
		b.out.Subjects[0].Risk = b.out.Subjects[0].Risk.Worse(r)
	}
}

// statements raises the floor to the risk of the SQL, GraphQL and MongoDB statements that a tool is given, in an
// argument or in a member of one (params.sql). If that member is missing, the statements may be elsewhere, so the risk
// is UNKNOWN.
func (b *builder) statements(list []arguments.Argument) {
	var names []string
	for name, role := range b.record.tool.Roles {
		if role.IsStatement() {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		top, member, within := strings.Cut(name, ".")
		value, ok := valueOf(list, []string{top})
		if !ok {
			continue
		}
		if within {
			inner, _ := arguments.Members(value)
			if value, ok = valueOf(inner, []string{member}); !ok {
				b.record.floor = b.record.floor.Worse(permissions.Unknown)
				continue
			}
		}
		role, risk := b.record.tool.Roles[name], commands.ServerSQL
		if role == kinds.Mongo {
			b.record.floor = b.record.floor.Worse(commands.Mongo(value))
			continue
		}
		if role == kinds.GraphQL {
			risk = commands.GraphQL
		}
		for _, s := range b.record.strings(arguments.Argument{Name: name, Value: value}) {
			b.record.note(role, s)
			b.record.floor = b.record.floor.Worse(risk(s))
		}
	}
}

func (b *builder) resource(uri string) {
	b.record.note(kinds.URI, uri)
	s := permissions.Subject{Value: uri, Decides: permissions.Form{uri}, Risk: b.record.floor}
	if decoded := workspace.PercentDecoded(uri); decoded != uri {
		s.Also = append(s.Also, permissions.Form{decoded})
	}
	b.record.own(s, source{})
	if _, ok := workspace.FileURL(uri); ok {
		for _, l := range b.files.locate(uri) {
			b.files.fileSubject(KindReadFile, uri, &l, false)
		}
	}
}
