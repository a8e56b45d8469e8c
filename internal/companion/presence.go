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

// passkeyAPI answers REST about passkeys.
type passkeyAPI struct {
	api
	log *slog.Logger
}

// routes show the passkeys, which all processes share. A new one comes in by a code that "callgate passkeys add"
// told, one that is registered lets another be removed.
func (s passkeyAPI) routes(path func(string, methods)) {
	if s.may.presence == nil {
		return
	}
	path("/api/presence", methods{"GET": s.may.viewer(s.handlePresence)})
	path("/api/presence/keys", methods{"POST": s.may.approver(s.handleAddKey)})
	path("/api/presence/keys/{id}", methods{"DELETE": s.may.approver(s.handleRemoveKey)})
}

// givenOf is what a REST request brings to prove that a person is there.
func givenOf(r *http.Request) (gate.PresenceGiven, error) {
	given := gate.PresenceGiven{Page: hub.PageOf(r), Person: hub.PersonOf(r)}
	assertion, err := base64.StdEncoding.DecodeString(r.Header.Get(wire.PresenceHeader))
	if err != nil {
		return given, wire.Refuse(wire.CodeBadMessage, "%s is not base64", wire.PresenceHeader)
	}
	given.Assertion = assertion
	return given, nil
}

// rawBody reads the body, and leaves it to be read again. When it is not ok the response is written.
func rawBody(w http.ResponseWriter, r *http.Request) (body []byte, ok bool) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, wire.MaxMessage))
	if err != nil {
		rest.WriteError(w, http.StatusBadRequest, wire.CodeBadMessage, "the body could not be read, or is larger than 4 MiB")
		return nil, false
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	return body, true
}

func (s passkeyAPI) handlePresence(w http.ResponseWriter, _ *http.Request) {
	keys, err := s.may.presence.Keys.List()
	if err != nil {
		s.log.Error("companion: the passkeys cannot be read", "error", err)
		rest.WriteError(w, http.StatusInternalServerError, wire.CodeInternal, rest.FailedText)
		return
	}
	view := wire.PresenceView{Needs: string(s.may.presence.Class()), Page: s.may.presence.Page(), Keys: []wire.PresenceKey{}}
	for _, k := range keys {
		view.Keys = append(view.Keys, wire.PresenceKey{ID: k.ID, Name: k.Name, Person: k.Person, Party: k.Party, Added: k.Added})
	}
	rest.WriteJSON(w, http.StatusOK, view)
}

// handleAddKey registers a passkey, which signs what is sent.
func (s passkeyAPI) handleAddKey(w http.ResponseWriter, r *http.Request) {
	body, ok := rawBody(w, r)
	if !ok {
		return
	}
	var f wire.PresenceAdd
	if !s.reply.body(w, r, &f) {
		return
	}
	given, err := givenOf(r)
	if err == nil {
		key := presence.Key{ID: f.ID, Name: f.Name, Public: f.Public}
		err = s.may.presence.Register(key, f.Code, presence.ActAdd, body, given, func(proof []byte) error {
			return s.may.noteProof(r, fmt.Sprintf("Passkey added: %q, %s", f.Name, f.ID), proof)
		})
	}
	if err != nil {
		s.failPresence(w, r, err)
		return
	}
	s.handlePresence(w, r)
}

// handleRemoveKey removes a passkey. A registered passkey must sign that, whatever approvers.presence says.
func (s passkeyAPI) handleRemoveKey(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	given, err := givenOf(r)
	if err == nil {
		var proof []byte
		if proof, err = s.may.presence.CheckAct(presence.ActRemove+id, nil, given); err == nil {
			var removed presence.Key
			if removed, err = s.may.presence.Keys.Remove(id); err == nil {
				err = s.may.noteProof(r, presence.RemovedSummary(removed), proof)
			}
		}
	}
	if err != nil {
		s.failPresence(w, r, err)
		return
	}
	s.handlePresence(w, r)
}

// failPresence is fail for errors that say what the person did wrong.
func (s passkeyAPI) failPresence(w http.ResponseWriter, r *http.Request, err error) {
	if told := presence.ToldError(nil); errors.As(err, &told) {
		err = wire.Refuse(wire.CodeBadMessage, "%v", told)
	}
	s.reply.fail(w, r, err)
}

// challengeOf is what the page's browser has to have signed, nil when the request came from elsewhere.
func challengeOf(n *presence.Needed) *wire.PresenceChallenge {
	if n.Nonce == "" {
		return nil
	}
	return &wire.PresenceChallenge{Nonce: n.Nonce, Challenge: n.Challenge, Party: n.Party, Keys: n.Keys}
}
