package companion

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"callgate/audit"
	"callgate/gate/tools"
	"callgate/internal/companion/credentials"
	"callgate/internal/companion/hub"
	"callgate/internal/companion/rest"
	"callgate/internal/companion/wire"
	"callgate/internal/presence"
)

// admission finds out who sent a request and what they may do.
type admission struct {
	credentials *credentials.Store
	presence    *presence.Desk // if nil, no proof of presence is needed
	note        func(summary string, who audit.Author) error
	reply       replies
	log         *slog.Logger
}

// identify returns the credential whose token this is, or "". If the credentials cannot be read, no token is valid.
func (a *admission) identify(token string) credentials.Credential {
	name, err := a.credentials.Identify(token)
	if err != nil {
		a.log.Error("companion: credentials cannot be read", slog.Any("error", err))
		return ""
	}
	return name
}

// caller returns the role of the request, whether it came directly or through the hub. "" means no rights.
func (a *admission) caller(r *http.Request, subprotocols []string) credentials.Credential {
	if may, ok := hub.Vouched(r); ok {
		return may
	}
	return a.identify(rest.Bearer(r, subprotocols)).Role()
}

// proven returns the person who owns the credential shown, and writes their name into the request, whatever it said.
// For a credential without a person, it refuses a name that belongs to somebody else.
func (a *admission) proven(r *http.Request, shown credentials.Credential) (person string, _ *wire.Refusal) {
	person = shown.Person()
	client, named := clientOf(r)
	switch {
	case person != "":
		if wire.CheckClient(client) != nil {
			client.Kind = "custom"
		}
		r.Header.Set(wire.ClientHeader, client.Kind+":"+url.PathEscape(person))
	case named:
		return "", a.refuseTaken(client.Name)
	}
	return person, nil
}

// refuseTaken refuses a name that belongs to a person with their own credential, or that could be mistaken for one.
func (a *admission) refuseTaken(name string) *wire.Refusal {
	known, err := a.credentials.People()
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
	mixed := func(part string) bool { return credentials.Scripts(part) > 1 }
	if slices.ContainsFunc(strings.Split(name, "/"), mixed) { // a client speaks for a person as client/person
		return wire.Refuse(wire.CodeBadMessage, "the name mixes letters of several scripts, which people cannot tell apart: use one")
	}
	return nil
}

// authorize reports whether a request may watch and, if answers is true, answer. If not, authorize writes the response.
func (a *admission) authorize(w http.ResponseWriter, r *http.Request, answers bool) bool {
	var why string
	switch a.caller(r, nil) {
	case credentials.Approve:
		return true
	case credentials.View:
		if !answers {
			return true
		}
		why = "the view credential may watch, not answer"
	case credentials.Tools:
		why = toolsOnly
	case credentials.Prompt:
		why = promptOnly
	default:
		rest.Unauthorized(w)
		return false
	}
	rest.WriteError(w, http.StatusForbidden, wire.CodeUnauthorized, why)
	return false
}

// viewer lets through requests that may watch.
func (a *admission) viewer(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if a.authorize(w, r, false) {
			next(w, r)
		}
	}
}

// prompter serves requests with the prompt credential and passes others to next.
func (a *admission) prompter(serve, next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		switch {
		case a.caller(r, nil) != credentials.Prompt:
			next(w, r)
		case !rest.SaysJSON(r):
			rest.WriteError(w, http.StatusUnsupportedMediaType, wire.CodeBadMessage, "the body must be application/json")
		default:
			serve(w, r)
		}
	}
}

const toolsOnly = "the tools credential brings tools, and neither watches nor answers"

// approver lets through only the approve credential, and only JSON bodies.
func (a *admission) approver(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !a.authorize(w, r, true) {
			return
		}
		if !rest.SaysJSON(r) {
			rest.WriteError(w, http.StatusUnsupportedMediaType, wire.CodeBadMessage, "the body must be application/json")
			return
		}
		if client, named := clientOf(r); named {
			if refused := wire.CheckClient(client); refused != nil {
				rest.WriteError(w, http.StatusBadRequest, refused.Code, wire.ClientHeader+" must be kind:name, as in web:alice: "+refused.Message)
				return
			}
		}
		next(w, r)
	}
}

// presenceOn reports whether changes that loosen the gate need a passkey.
func (a *admission) presenceOn() bool { return a.presence != nil && a.presence.On() }

// proved lets a change through that may loosen the gate, once a person has proved to be present. The proof is put on
// record first. The request must also pass approver.
func (a *admission) proved(next http.HandlerFunc) http.HandlerFunc {
	return a.approver(func(w http.ResponseWriter, r *http.Request) {
		if !a.presenceOn() {
			next(w, r)
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, wire.MaxMessage)
		if err := a.prove(r); err != nil {
			a.reply.fail(w, r, err)
			return
		}
		next(w, r)
	})
}

func (a *admission) prove(r *http.Request) error {
	data, err := rawBody(r)
	if err != nil {
		return err
	}
	given, err := givenOf(r)
	if err != nil {
		return err
	}
	act := r.Method + " " + r.URL.RequestURI()
	proof, err := a.presence.CheckAct(act, data, given)
	if err != nil {
		return err
	}
	return a.noteProof(r, fmt.Sprintf("A person proved to be there: %s.", act), proof)
}

func (a *admission) noteProof(r *http.Request, summary string, proof []byte) error {
	who := authorOf(r)
	return a.note(summary, audit.Author{By: who.By, From: who.From, Presence: string(proof)})
}

// restClient is the audit trail's name for a REST client that did not say who it is.
const restClient = "rest"

// authorOf returns who sent a REST request, and from where, for the audit trail. The request has passed approver.
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

// errTaken refuses a client that uses a person's name without that person's credential.
var errTaken = &wire.Refusal{Code: wire.CodeUnauthorized, Message: "this name is a person's who has a credential of their own: show that one (callgate approve --as NAME), or go by another name", Close: wire.CloseNameTaken}

// approverName returns the audit trail's name for a client. Because of its kind it cannot pose as a rule or a grant.
func approverName(c wire.ClientInfo) string { return c.Kind + ":" + shortName(c.Name) }

// personName returns the audit trail's name for a person for whom a client speaks.
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
