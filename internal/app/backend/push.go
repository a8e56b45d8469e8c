package backend

import (
	"net/url"

	"callgate/audit"
	"callgate/internal/companion"
	"callgate/internal/push"
)

// pusher records who adds and removes the browsers that get push messages.
type pusher struct {
	*Backend
	store *push.Store
}

// pusher returns nil if no push channel is configured.
func (b *Backend) pusher() companion.Pusher {
	if store := b.Config.Channels.Push(b.Config.DataDir); store != nil {
		return pusher{b, store}
	}
	return nil
}

func (p pusher) PushKey() (string, error) { return p.store.Key() }

func (p pusher) AddDevice(d push.Device, who audit.Author) error {
	return p.change("", who, "Send push messages to a browser, by "+serviceOf(d.Endpoint)+".", func() error { return p.store.Add(d) })
}

func (p pusher) RemoveDevice(endpoint string, who audit.Author) error {
	return p.change("", who, "Stop sending push messages to a browser, by "+serviceOf(endpoint)+".", func() error {
		_, err := p.store.Remove(endpoint)
		return err
	})
}

// serviceOf returns the host of an endpoint. The rest of the endpoint is a secret.
func serviceOf(endpoint string) string {
	if u, err := url.Parse(endpoint); err == nil && u.Host != "" {
		return u.Host
	}
	return "an unknown push service"
}
