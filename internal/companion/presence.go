package companion

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"

	"callgate/gate"
	"callgate/internal/companion/hub"
	"callgate/internal/companion/rest"
	"callgate/internal/companion/wire"
	"callgate/internal/presence"
)

// passkeyAPI serves passkeys over REST.
type passkeyAPI struct {
	api
	log *slog.Logger
}

// routes adds the routes of passkeys, which all processes share. To add a passkey, a person needs a code from "callgate
// passkeys add"; to remove one, a registered passkey.
func (s passkeyAPI) routes(path func(string, methods)) {
	if s.may.presence == nil {
		return
	}
	path("/api/presence", methods{"GET": s.viewer(s.keys)})
	path("/api/presence/keys", methods{"POST": s.approver(s.add)})
	path("/api/presence/keys/{id}", methods{"DELETE": s.approver(s.remove)})
}

// givenOf returns what a REST request brings to prove that a person is present.
func givenOf(r *http.Request) (gate.PresenceGiven, error) {
	given := gate.PresenceGiven{Page: hub.PageOf(r), Person: hub.PersonOf(r)}
	assertion, err := base64.StdEncoding.DecodeString(r.Header.Get(wire.PresenceHeader))
	if err != nil {
		return given, wire.Refuse(wire.CodeBadMessage, "%s is not base64", wire.PresenceHeader)
	}
	given.Assertion = assertion
	return given, nil
}

// rawBody reads the body so that it can be read again.
func rawBody(r *http.Request) ([]byte, error) {
	data, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, badMessage("the body could not be read, or is larger than 4 MiB")
	}
	r.Body = io.NopCloser(bytes.NewReader(data))
	return data, nil
}

func (s passkeyAPI) keys(*http.Request) (any, error) {
	keys, err := s.may.presence.Keys.List()
	if err != nil {
		s.log.Error("companion: the passkeys cannot be read", "error", err)
		return nil, failed(http.StatusInternalServerError, wire.CodeInternal, rest.FailedText)
	}
	view := wire.PresenceView{Needs: string(s.may.presence.Class()), Page: s.may.presence.Page(), Keys: []wire.PresenceKey{}}
	for _, k := range keys {
		view.Keys = append(view.Keys, wire.PresenceKey{ID: k.ID, Name: k.Name, Person: k.Person, Party: k.Party, Added: k.Added})
	}
	return view, nil
}

// add registers a passkey, which MUST have signed the body.
func (s passkeyAPI) add(r *http.Request) (any, error) {
	data, err := rawBody(r)
	if err != nil {
		return nil, err
	}
	var f wire.PresenceAdd
	if err := body(r, &f); err != nil {
		return nil, err
	}
	given, err := givenOf(r)
	if err != nil {
		return nil, err
	}
	err = s.may.presence.Register(presence.Key{ID: f.ID, Name: f.Name, Public: f.Public}, f.Code, presence.ActAdd, data, given, func(proof []byte) error {
		return s.may.noteProof(r, fmt.Sprintf("Passkey added: %q, %s", f.Name, f.ID), proof)
	})
	return s.keysAfter(r, err)
}

// remove removes a passkey. A registered passkey MUST sign the removal, whatever approvers.presence says.
func (s passkeyAPI) remove(r *http.Request) (any, error) {
	id := r.PathValue("id")
	given, err := givenOf(r)
	if err != nil {
		return nil, err
	}
	proof, err := s.may.presence.CheckAct(presence.ActRemove+id, nil, given)
	var removed presence.Key
	if err == nil {
		removed, err = s.may.presence.Keys.Remove(id)
	}
	if err == nil {
		err = s.may.noteProof(r, presence.RemovedSummary(removed), proof)
	}
	return s.keysAfter(r, err)
}

// keysAfter answers a change with the list of keys, or with its error.
func (s passkeyAPI) keysAfter(r *http.Request, err error) (any, error) {
	if told, ok := errors.AsType[presence.ToldError](err); ok {
		return nil, badMessage("%v", told)
	}
	if err != nil {
		return nil, err
	}
	return s.keys(r)
}

// challengeOf returns what the page's browser must sign, or nil if the request did not come from a page.
func challengeOf(n *presence.Needed) *wire.PresenceChallenge {
	if n.Nonce == "" {
		return nil
	}
	return &wire.PresenceChallenge{Nonce: n.Nonce, Challenge: n.Challenge, Party: n.Party, Keys: n.Keys}
}
