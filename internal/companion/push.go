package companion

import (
	"errors"
	"net/http"

	"callgate/audit"
	"callgate/internal/companion/hub"
	"callgate/internal/companion/rest"
	"callgate/internal/companion/wire"
	"callgate/internal/push"
)

// Pusher keeps the browsers that want to be told of questions.
type Pusher interface {
	// PushKey is what a browser subscribes with.
	PushKey() (string, error)
	// AddDevice and RemoveDevice are put on record. The error of the first may be a push.ErrDevice.
	AddDevice(d push.Device, who audit.Author) error
	RemoveDevice(endpoint string, who audit.Author) error
}

// pushAPI answers REST about browsers that are told of questions.
type pushAPI struct{ api }

// routes are answered by the process that is asked, for all: the browsers are in a file that they share.
func (s pushAPI) routes(path func(string, methods)) {
	pushing := func(handle http.HandlerFunc) http.HandlerFunc {
		return s.may.approver(func(w http.ResponseWriter, r *http.Request) {
			if s.backend.offers(w, partPusher) {
				handle(w, r)
			}
		})
	}
	path("/api/push", methods{"GET": s.may.approver(s.handlePushKey), "POST": pushing(s.handleAddDevice), "DELETE": pushing(s.handleRemoveDevice)})
}

func (s pushAPI) handlePushKey(w http.ResponseWriter, r *http.Request) {
	if s.backend.Pusher == nil { // no error: the page asks each time
		rest.WriteJSON(w, http.StatusOK, map[string]string{"key": ""})
		return
	}
	key, err := s.backend.Pusher.PushKey()
	s.reply.answer(w, r, map[string]string{"key": key}, err)
}

func (s pushAPI) handleAddDevice(w http.ResponseWriter, r *http.Request) {
	var f struct {
		Endpoint string `json:"endpoint"`
		P256dh   string `json:"p256dh"`
		Auth     string `json:"auth"`
	}
	if !s.reply.body(w, r, &f) {
		return
	}
	switch err := s.backend.Pusher.AddDevice(push.Device{Endpoint: f.Endpoint, P256dh: f.P256dh, Auth: f.Auth, Person: hub.PersonOf(r)}, authorOf(r)); {
	case errors.Is(err, push.ErrDevice):
		rest.WriteError(w, http.StatusBadRequest, wire.CodeBadMessage, err.Error())
	case err != nil:
		s.reply.fail(w, r, err)
	default:
		s.handlePushKey(w, r)
	}
}

func (s pushAPI) handleRemoveDevice(w http.ResponseWriter, r *http.Request) {
	var f struct {
		Endpoint string `json:"endpoint"`
	}
	if !s.reply.body(w, r, &f) {
		return
	}
	if err := s.backend.Pusher.RemoveDevice(f.Endpoint, authorOf(r)); err != nil {
		s.reply.fail(w, r, err)
		return
	}
	s.handlePushKey(w, r)
}
