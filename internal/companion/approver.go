package companion

import (
	"errors"
	"io/fs"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"callgate/audit"
	"callgate/gate/tools"
	"callgate/internal/companion/credentials"
	"callgate/internal/companion/hub"
	"callgate/internal/companion/wire"
)

// restClient is the audit trail's name for a REST approver that did not say who it is.
const restClient = "rest"

// authorOf is how the audit trail names who sent a REST request that approver let pass, and where from.
func authorOf(r *http.Request) audit.Author {
	who := audit.Author{By: restClient, From: hub.ClientAddress(r)}
	if client, named := clientOf(r); named {
		who.By = approverName(client)
	}
	return who
}

func clientOf(r *http.Request) (client wire.ClientInfo, named bool) {
	header := r.Header.Get(wire.ClientHeader)
	kind, name, _ := strings.Cut(header, ":")
	if decoded, err := url.PathUnescape(name); err == nil {
		name = decoded
	}
	return wire.ClientInfo{Kind: kind, Name: name}, header != ""
}

// errTaken refuses a name that is a person's who did not prove to be the client.
var errTaken = &wire.Refusal{Code: wire.CodeUnauthorized, Message: "this name is a person's who has a credential of their own: show that one (callgate approve --as NAME), or go by another name", Close: wire.CloseNameTaken}

// proven finds out whose credential shown is, and gives the request that name, whatever it said. It refuses a name that
// another person owns.
func (s *Server) proven(r *http.Request, shown credentials.Credential) (person string, _ *wire.Refusal) {
	person = shown.Person()
	client, named := clientOf(r)
	switch {
	case person != "":
		if wire.CheckClient(client) != nil {
			client.Kind = "custom"
		}
		r.Header.Set(wire.ClientHeader, client.Kind+":"+url.PathEscape(person))
	case named:
		return "", s.free(client.Name)
	}
	return person, nil
}

// free refuses the name of a person who has a credential of their own, and what could be read as such a name.
func (s *Server) free(name string) *wire.Refusal {
	known, err := s.credentials.People()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return wire.Refuse(wire.CodeInternal, "the credentials cannot be read; the log says why")
	}
	if len(known) == 0 {
		return nil
	}
	looks := credentials.Skeleton(name)
	if slices.ContainsFunc(known, func(c credentials.Credential) bool { return credentials.Skeleton(c.Person()) == looks }) {
		return errTaken
	}
	if credentials.Scripts(name) > 1 {
		return wire.Refuse(wire.CodeBadMessage, "the name mixes letters of several scripts, which people cannot tell apart: use one")
	}
	return nil
}

// approverName is how the audit trail names a client. The kind in front keeps a client from passing for
// a rule or a grant.
func approverName(c wire.ClientInfo) string { return c.Kind + ":" + shortName(c.Name) }

// personName is how the audit trail names one of those for whom a client speaks.
func personName(client, person string) string {
	if person == "" {
		return client
	}
	return client + "/" + shortName(person)
}

func shortName(name string) string {
	short := []rune(tools.Visible(name))
	return string(short[:min(len(short), maxName)])
}
