package companion

import (
	"encoding/hex"
	"errors"
	"io/fs"
	"net/http"

	"callgate/internal/companion/credentials"
	"callgate/internal/companion/hub"
	"callgate/internal/companion/rest"
	"callgate/internal/companion/wire"
)

// A client that finds an announced address cannot know who listens there: callgate may have
// crashed, and another user's process may have taken the port. So before the Go client shows its
// credential it asks for a proof that the other side holds the same one. The proof covers the address, so
// that nobody can get it by passing the question on to the true companion at another port.

// handleProof answers GET /api/proof?credential=approve&nonce=HEX. It needs no credential, and tells
// nothing to those who have none.
func (s *Server) handleProof(w http.ResponseWriter, r *http.Request) {
	name, nonce := credentials.Credential(r.URL.Query().Get("credential")), r.URL.Query().Get("nonce")
	switch name.Role() {
	case credentials.Approve, credentials.View, credentials.Tools, credentials.Prompt:
	default:
		rest.WriteError(w, http.StatusBadRequest, wire.CodeBadMessage, "credential must be approve, view, tools or prompt")
		return
	}
	if raw, err := hex.DecodeString(nonce); err != nil || len(nonce) != credentials.NonceLength || len(raw) == 0 {
		rest.WriteError(w, http.StatusBadRequest, wire.CodeBadMessage, "nonce must be 64 hex digits")
		return
	}
	door := hub.DoorOf(r)
	if door == nil {
		rest.WriteError(w, http.StatusNotFound, wire.CodeBadMessage, "the hub has had its proof")
		return
	}
	token, err := s.credentials.Token(name)
	if errors.Is(err, fs.ErrNotExist) {
		rest.WriteError(w, http.StatusBadRequest, wire.CodeBadMessage, "there is no such credential")
		return
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	address := door.Address
	if door.Remote { // the name that the client knows, which guard has checked, and the certificate has proven
		address = r.Host
	}
	rest.WriteJSON(w, http.StatusOK, map[string]string{"proof": credentials.Proof(token, nonce, address)})
}
