package companion

import (
	"net/http"

	"callgate/audit"
	"callgate/gate"
	"callgate/internal/companion/wire"
)

// Freezer holds back everything but reading, for all processes of the data directory or for one session.
type Freezer interface {
	Frozen() ([]gate.Freeze, error)
	Freeze(one gate.Freeze, who audit.Author) error
	// Unfreeze ends the freeze of a session, "" that of all.
	Unfreeze(sessionID string, who audit.Author) error
}

// Frozen is the answer of /api/freeze: what is frozen now.
type Frozen struct {
	Frozen []gate.Freeze `json:"frozen"`
}

// freezeAPI answers REST about freezes.
type freezeAPI struct{ api }

// routes are answered by the process that is asked, for all: what is frozen is in a file that they share.
func (s freezeAPI) routes(path func(string, methods)) {
	if s.backend.Freezer == nil {
		return
	}
	path("/api/freeze", methods{"GET": s.may.viewer(s.handleFrozen), "PUT": s.may.approver(s.handlePutFreeze), "DELETE": s.may.proved(s.handleUnfreeze)})
}

func (s freezeAPI) handleFrozen(w http.ResponseWriter, r *http.Request) {
	frozen, err := s.backend.Freezer.Frozen()
	s.reply.answer(w, r, Frozen{wire.List(frozen)}, err)
}

// handlePutFreeze freezes at once. An existing freeze could end sooner because of it.
func (s freezeAPI) handlePutFreeze(w http.ResponseWriter, r *http.Request) {
	if frozen, err := s.backend.Freezer.Frozen(); err != nil || len(frozen) > 0 {
		s.may.proved(s.handleFreeze)(w, r)
		return
	}
	s.handleFreeze(w, r)
}

func (s freezeAPI) handleFreeze(w http.ResponseWriter, r *http.Request) {
	var f wire.FreezeRequest
	if !s.reply.body(w, r, &f) {
		return
	}
	if err := s.backend.Freezer.Freeze(gate.Freeze{SessionID: f.SessionID, Until: f.Until, Reason: f.Reason}, authorOf(r)); err != nil {
		s.reply.fail(w, r, err)
		return
	}
	s.handleFrozen(w, r)
}

func (s freezeAPI) handleUnfreeze(w http.ResponseWriter, r *http.Request) {
	var f wire.FreezeRequest
	if !s.reply.body(w, r, &f) {
		return
	}
	if err := s.backend.Freezer.Unfreeze(f.SessionID, authorOf(r)); err != nil {
		s.reply.fail(w, r, err)
		return
	}
	s.handleFrozen(w, r)
}
