// Package push sends Web Push messages about questions to browsers that subscribed, and stores the subscriptions.
//
// A message is encrypted for its browser; the push service on the way sees only its size and time. callgate sends only
// to the push services of known browsers, so nobody who may subscribe can make it talk to any other place.
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

// Device is one browser. P256dh and Auth are the keys of its subscription, as the browser gives them.
type Device struct {
	Endpoint string    `json:"endpoint"`
	P256dh   string    `json:"p256dh"`
	Auth     string    `json:"auth"`
	Person   string    `json:"person,omitempty"` // whose browser it is; "" for no particular person
	Since    time.Time `json:"since"`
}

// Message is a message for the devices.
type Message struct {
	Payload []byte        // JSON, at most MaxPayload bytes
	Topic   string        // replaces an undelivered message with the same topic
	Urgent  bool          // wakes the device up
	Keep    time.Duration // how long the push service tries to deliver it
}

// Bounds of messages, devices and the file.
const (
	MaxPayload = 3000
	maxOwn     = 32       // devices of one person
	maxFile    = 16 << 20 // bytes
	atOnce     = 64       // messages being sent at once: one slow service must not hold up the others
)

// Store is the file of subscriptions in one data directory. Processes share it.
type Store struct {
	dataDir string
	subject string // how a push service can contact the operator: the page's address
	allowed []string
}

// services lists the hosts of the browsers' push services. Their subdomains count too.
var services = []string{"fcm.googleapis.com", "push.services.mozilla.com", "push.apple.com", "notify.windows.com"}

// Open returns the store of a data directory. It reads nothing yet. page is the page's address. service is the host of
// another allowed push service; "" for none.
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

// content is the content of the file.
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
		if err == nil && len(data) > maxFile { // it could not be read again
			err = errors.New("push: there is no room for more devices")
		}
		if err != nil {
			return err
		}
		return durable.Put(s.path(), data)
	})
}

// Key returns the public key with which browsers subscribe. It makes the keys on first use.
func (s *Store) Key() (string, error) {
	c, err := s.read()
	if err == nil && c.Public == "" {
		err = s.change(func(made *content) error { c = *made; return nil })
	}
	return c.Public, err
}

// ErrDevice means that a subscription is not valid.
var ErrDevice = errors.New("this is not a browser subscription that callgate can send to")

// Add stores a browser. A known browser is replaced, and may change its person.
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

// check returns what is wrong with a subscription, or nil.
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

// Remove removes a browser, and reports whether it was known.
func (s *Store) Remove(endpoint string) (known bool, err error) {
	err = s.change(func(c *content) error {
		before := len(c.Devices)
		c.Devices = slices.DeleteFunc(c.Devices, func(d Device) bool { return d.Endpoint == endpoint })
		known = len(c.Devices) < before
		return nil
	})
	return known, err
}

// client follows no redirects.
var client = &http.Client{Timeout: 15 * time.Second, CheckRedirect: outbound.NoRedirects}

// Send sends a message to the devices of the persons for whom wanted returns true. It removes devices that their push
// service no longer knows. It returns an error only if sending failed and no device got the message.
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
		return false, fmt.Errorf("push: %w", outbound.WithoutAddress(err)) // the URL is a secret
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
