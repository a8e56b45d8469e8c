// Package push sends Web Push messages about questions to browsers that subscribed, and keeps the list of them.
//
// A message is encrypted for its browser; the push service on the way sees its size and when it was sent. A push
// service is one of the browsers' own: whoever may subscribe cannot make callgate talk to any other place.
package push

import (
	"context"
	"crypto/ecdh"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/SherClockHolmes/webpush-go"

	"callgate/internal/durable"
	"callgate/internal/loopback"
	"callgate/internal/outbound"
)

// Device is one browser. P256dh and Auth are the keys of its subscription, as it gives them.
type Device struct {
	Endpoint string    `json:"endpoint"`
	P256dh   string    `json:"p256dh"`
	Auth     string    `json:"auth"`
	Person   string    `json:"person,omitempty"` // whose it is; "" for nobody in particular
	Since    time.Time `json:"since"`
}

// Message is what goes out to every device.
type Message struct {
	Payload []byte        // JSON, at most MaxPayload bytes
	Topic   string        // a later message of the same topic takes the place of one that is not delivered yet
	Urgent  bool          // wakes the device up
	Keep    time.Duration // how long the push service tries
}

// Bounds.
const (
	MaxPayload = 3000
	maxOwn     = 32       // devices of one person
	maxFile    = 16 << 20 // bytes
	atOnce     = 64       // messages on their way: one service that is slow must not hold up the others
)

// Store is the file of one data directory, which processes share.
type Store struct {
	dataDir string
	subject string // whom a push service can turn to: the address of the page
	allowed []string
}

// services are the hosts of browsers' push services, and those below them.
var services = []string{"fcm.googleapis.com", "push.services.mozilla.com", "push.apple.com", "notify.windows.com"}

// Open names no file yet. page is the address of the page, and service the host of a push service beside the known
// ones; "" for none.
func Open(dataDir, page, service string) *Store {
	s := &Store{dataDir: dataDir, subject: "callgate@localhost", allowed: services}
	if strings.HasPrefix(page, "https://") {
		s.subject = page
	}
	if service != "" {
		s.allowed = append(slices.Clip(services), service)
	}
	return s
}

// content is what the file holds.
type content struct {
	Public  string   `json:"public"`
	Private string   `json:"private"`
	Devices []Device `json:"devices"`
}

func (s *Store) path() string { return filepath.Join(s.dataDir, "push.json") }

func (s *Store) read() (c content, err error) {
	if err := durable.LoadJSON(s.path(), maxFile, &c); err != nil {
		return c, fmt.Errorf("push: %w", err)
	}
	return c, nil
}

func (s *Store) change(f func(*content) error) error {
	return durable.Locked(s.path()+".lock", func() error {
		c, err := s.read()
		if err != nil {
			return err
		}
		if c.Public == "" {
			if c.Private, c.Public, err = webpush.GenerateVAPIDKeys(); err != nil {
				return fmt.Errorf("push: %w", err)
			}
		}
		if err := f(&c); err != nil {
			return err
		}
		data, err := json.Marshal(&c)
		if err == nil && len(data) > maxFile { // which nobody could read
			err = errors.New("push: there is no room for more devices")
		}
		if err != nil {
			return err
		}
		return durable.Put(s.path(), data)
	})
}

// Key is the public key that a browser subscribes with. It is made when it is first asked for.
func (s *Store) Key() (string, error) {
	c, err := s.read()
	if err == nil && c.Public == "" {
		err = s.change(func(made *content) error { c = *made; return nil })
	}
	return c.Public, err
}

// ErrDevice says that a subscription is not one.
var ErrDevice = errors.New("this is not a browser subscription that callgate can send to")

// Add takes a browser in, or takes it over.
func (s *Store) Add(d Device) error {
	if err := s.check(&d); err != nil {
		return err
	}
	d.Since = time.Now().UTC().Truncate(time.Second)
	return s.change(func(c *content) error {
		c.Devices = slices.DeleteFunc(c.Devices, func(o Device) bool { return o.Endpoint == d.Endpoint })
		own := 0
		for i := range c.Devices {
			if c.Devices[i].Person == d.Person {
				own++
			}
		}
		if own >= maxOwn {
			return fmt.Errorf("%w: you have %d already", ErrDevice, maxOwn)
		}
		c.Devices = append(c.Devices, d)
		return nil
	})
}

// check says what is wrong with a subscription.
func (s *Store) check(d *Device) error {
	u, err := url.Parse(d.Endpoint)
	if err != nil || len(d.Endpoint) > 2048 || !loopback.Confidential(u) || u.User != nil || !s.serves(u) {
		return fmt.Errorf("%w: its push service is not a known one", ErrDevice)
	}
	key, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(d.P256dh, "="))
	if err == nil {
		_, err = ecdh.P256().NewPublicKey(key)
	}
	secret, wrong := base64.RawURLEncoding.DecodeString(strings.TrimRight(d.Auth, "="))
	if err != nil || wrong != nil || len(secret) != 16 {
		return fmt.Errorf("%w: its keys are damaged", ErrDevice)
	}
	return nil
}

func (s *Store) serves(u *url.URL) bool {
	return slices.ContainsFunc(s.allowed, func(host string) bool {
		return u.Host == host || u.Port() == "" && strings.HasSuffix(u.Host, "."+host)
	})
}

// Remove forgets a browser, and reports whether it was known.
func (s *Store) Remove(endpoint string) (known bool, err error) {
	err = s.change(func(c *content) error {
		before := len(c.Devices)
		c.Devices = slices.DeleteFunc(c.Devices, func(d Device) bool { return d.Endpoint == endpoint })
		known = len(c.Devices) < before
		return nil
	})
	return known, err
}

// client follows nothing.
var client = &http.Client{Timeout: 15 * time.Second, CheckRedirect: outbound.NoRedirects}

// Send tells the devices whose persons wanted says yes to, and forgets those that their push service does not know any
// more. It fails when no device could be told.
func (s *Store) Send(ctx context.Context, m Message, wanted func(person string) bool) error {
	c, err := s.read()
	if err != nil {
		return err
	}
	var (
		sending sync.WaitGroup
		room    = make(chan struct{}, atOnce)
		mu      sync.Mutex
		told    int
		failed  []error
	)
	for i := range c.Devices {
		d := &c.Devices[i]
		if !wanted(d.Person) {
			continue
		}
		room <- struct{}{}
		sending.Go(func() {
			defer func() { <-room }()
			gone, err := s.send(ctx, &c, d, m)
			if gone {
				_, err = s.Remove(d.Endpoint)
			}
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err != nil:
				failed = append(failed, err)
			case !gone:
				told++
			}
		})
	}
	sending.Wait()
	if told > 0 {
		return nil
	}
	return errors.Join(failed...)
}

func (s *Store) send(ctx context.Context, c *content, d *Device, m Message) (gone bool, err error) {
	if err := s.check(d); err != nil {
		return true, nil
	}
	urgency := webpush.UrgencyNormal
	if m.Urgent {
		urgency = webpush.UrgencyHigh
	}
	response, err := webpush.SendNotificationWithContext(ctx, m.Payload, &webpush.Subscription{Endpoint: d.Endpoint, Keys: webpush.Keys{Auth: d.Auth, P256dh: d.P256dh}}, &webpush.Options{
		HTTPClient: client, Subscriber: s.subject, Topic: m.Topic, TTL: int(m.Keep.Seconds()), Urgency: urgency, VAPIDPublicKey: c.Public, VAPIDPrivateKey: c.Private,
	})
	if err != nil {
		return false, fmt.Errorf("push: %w", outbound.WithoutAddress(err)) // the address is a secret
	}
	defer response.Body.Close()
	switch {
	case response.StatusCode == http.StatusNotFound || response.StatusCode == http.StatusGone:
		return true, nil
	case response.StatusCode/100 != 2:
		return false, fmt.Errorf("push: the push service answered %s", response.Status)
	}
	return false, nil
}
