package companion

import (
	"errors"
	"net/http"

	"callgate/audit"
	"callgate/internal/companion/hub"
	"callgate/internal/push"
)

// Pusher keeps the browsers that want notifications of questions.
type Pusher interface {
	// PushKey returns the key with which browsers subscribe.
	PushKey() (string, error)
	// AddDevice and RemoveDevice record the change. AddDevice may return push.ErrDevice.
	AddDevice(d push.Device, who audit.Author) error
	RemoveDevice(endpoint string, who audit.Author) error
}

// pushAPI serves the browsers that want notifications over REST.
type pushAPI struct{ api }

// routes adds the routes of push. Any process can answer, because all share the file of browsers.
func (s pushAPI) routes(path func(string, methods)) {
	path("/api/push", methods{"GET": s.approver(s.key), "POST": s.approver(s.with(partPusher, reading(s.add))), "DELETE": s.approver(s.with(partPusher, reading(s.remove)))})
}

func (s pushAPI) key(*http.Request) (any, error) {
	if s.backend.Pusher == nil { // no error, because the page asks every time
		return map[string]string{"key": ""}, nil
	}
	key, err := s.backend.Pusher.PushKey()
	return map[string]string{"key": key}, err
}

func (s pushAPI) add(r *http.Request, f struct {
	Endpoint string `json:"endpoint"`
	P256dh   string `json:"p256dh"`
	Auth     string `json:"auth"`
}) (any, error) {
	err := s.backend.Pusher.AddDevice(push.Device{Endpoint: f.Endpoint, P256dh: f.P256dh, Auth: f.Auth, Person: hub.PersonOf(r)}, authorOf(r))
	if errors.Is(err, push.ErrDevice) {
		return nil, badMessage("%v", err)
	}
	if err != nil {
		return nil, err
	}
	return s.key(r)
}

func (s pushAPI) remove(r *http.Request, f struct {
	Endpoint string `json:"endpoint"`
}) (any, error) {
	if err := s.backend.Pusher.RemoveDevice(f.Endpoint, authorOf(r)); err != nil {
		return nil, err
	}
	return s.key(r)
}
