package push

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"callgate/internal/testserver/pushservice"
	"callgate/internal/testserver/waits"
)

func anybody(string) bool { return true }

// open returns a store that may also send to the service.
func open(t *testing.T, service *pushservice.Service) *Store {
	t.Helper()
	u, err := url.Parse(service.URL)
	if err != nil {
		t.Fatal(err)
	}
	return Open(t.TempDir(), "https://gate.example.com", u.Host)
}

func (s *Store) subscribe(t *testing.T, service *pushservice.Service, person string) *pushservice.Browser {
	t.Helper()
	key, err := s.Key()
	if err != nil {
		t.Fatal(err)
	}
	b := service.Subscribe(key)
	if err := s.Add(Device{Endpoint: b.Endpoint, P256dh: b.P256dh, Auth: b.Auth, Person: person}); err != nil {
		t.Fatal(err)
	}
	return b
}

func TestMessagesAreSignedAndForTheirBrowserAlone(t *testing.T) {
	service := pushservice.New(t)
	s := open(t, service)
	browsers := []*pushservice.Browser{s.subscribe(t, service, "alice"), s.subscribe(t, service, "bob")}
	if err := s.Send(t.Context(), Message{Payload: []byte(`{"title":"x"}`), Topic: "topic", Urgent: true, Keep: time.Minute}, anybody); err != nil {
		t.Fatal(err)
	}
	told := map[*pushservice.Browser]bool{}
	for range browsers {
		m := <-service.Got
		told[m.Browser] = true
		if string(m.Payload) != `{"title":"x"}` || m.Topic != "topic" || m.TTL != "60" || m.Urgency != "high" || m.Subject != "https://gate.example.com" {
			t.Errorf("%+v %s", m, m.Payload)
		}
	}
	if !told[browsers[0]] || !told[browsers[1]] {
		t.Errorf("told %v", told)
	}
	// The browser did not subscribe with another data directory's key.
	other := open(t, service)
	if _, err := other.Key(); err != nil {
		t.Fatal(err)
	}
	if err := other.Add(Device{Endpoint: browsers[0].Endpoint, P256dh: browsers[0].P256dh, Auth: browsers[0].Auth}); err != nil {
		t.Fatal(err)
	}
	if err := other.Send(t.Context(), Message{Payload: []byte("{}")}, anybody); err == nil || !strings.Contains(err.Error(), "403") || strings.Contains(err.Error(), "/push/") {
		t.Errorf("a stranger's message: %v", err)
	}
}

func TestWhoIsNotWantedOrNotThereIsNotTold(t *testing.T) {
	service := pushservice.New(t)
	s := open(t, service)
	alice, bob := s.subscribe(t, service, "alice"), s.subscribe(t, service, "bob")
	service.Forget(alice)
	for range 2 {
		if err := s.Send(t.Context(), Message{Payload: []byte("{}")}, func(person string) bool { return person != "bob" }); err != nil {
			t.Error(err)
		}
	}
	if len(service.Got) > 0 {
		t.Error("somebody was told")
	}
	c, err := s.read()
	if err != nil || len(c.Devices) != 1 || c.Devices[0].Endpoint != bob.Endpoint {
		t.Errorf("%+v %v", c.Devices, err)
	}
	if known, err := s.Remove(bob.Endpoint); !known || err != nil {
		t.Errorf("%v %v", known, err)
	}
	if known, err := s.Remove(bob.Endpoint); known || err != nil {
		t.Errorf("again: %v %v", known, err)
	}
}

// A push service that does not answer does not hold up other messages.
func TestSlowServiceHoldsUpNobody(t *testing.T) {
	service := pushservice.New(t)
	slow := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // so that the end of the request is noticed
		<-r.Context().Done()
	}))
	defer slow.Close()
	s := open(t, service)
	s.allowed = append(s.allowed, strings.TrimPrefix(slow.URL, "http://"))
	first := s.subscribe(t, service, "alice")
	if err := s.Add(Device{Endpoint: slow.URL + "/x", P256dh: first.P256dh, Auth: first.Auth}); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		s.subscribe(t, service, "bob")
	}
	ctx, cancel := context.WithCancel(t.Context())
	sent := make(chan error, 1)
	go func() { sent <- s.Send(ctx, Message{Payload: []byte("{}")}, anybody) }()
	for range 6 {
		select {
		case <-service.Got:
		case <-time.After(waits.Limit):
			t.Fatal("not all that answer were told")
		}
	}
	cancel()
	if err := <-sent; err != nil {
		t.Error(err)
	}
}

// A file that is written can be read again.
func TestNoRoom(t *testing.T) {
	service := pushservice.New(t)
	s := open(t, service)
	b := s.subscribe(t, service, "alice")
	if err := s.change(func(c *content) error { c.Devices[0].Endpoint = strings.Repeat("x", maxFile-600); return nil }); err != nil {
		t.Fatal(err)
	}
	for _, d := range []Device{{Endpoint: b.Endpoint + strings.Repeat("x", 1000)}, {Endpoint: b.Endpoint + "y"}} {
		d.P256dh, d.Auth = b.P256dh, b.Auth
		if err := s.Add(d); (err == nil) != strings.HasSuffix(d.Endpoint, "y") {
			t.Errorf("%d bytes more: %v", len(d.Endpoint), err)
		}
	}
	if known, err := s.Remove(b.Endpoint + "y"); !known || err != nil {
		t.Error(known, err)
	}
}

func TestSubscriptionsToOtherPlacesAreRefused(t *testing.T) {
	service := pushservice.New(t)
	s := open(t, service)
	good := s.subscribe(t, service, "")
	for name, change := range map[string]func(*Device){
		"another host":     func(d *Device) { d.Endpoint = "https://internal.example.com/x" },
		"a look-alike":     func(d *Device) { d.Endpoint = "https://evilfcm.googleapis.com.example.com/x" },
		"a suffix":         func(d *Device) { d.Endpoint = "https://xfcm.googleapis.com/x" },
		"a port":           func(d *Device) { d.Endpoint = "https://a.push.apple.com:22/x" },
		"not confidential": func(d *Device) { d.Endpoint = "http://fcm.googleapis.com/x" },
		"a user":           func(d *Device) { d.Endpoint = "https://a:b@fcm.googleapis.com/x" },
		"no point":         func(d *Device) { d.P256dh = "AAAA" },
		"no secret":        func(d *Device) { d.Auth = "AAAA" },
	} {
		d := Device{Endpoint: good.Endpoint, P256dh: good.P256dh, Auth: good.Auth}
		change(&d)
		if err := s.Add(d); !errors.Is(err, ErrDevice) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, endpoint := range []string{"https://fcm.googleapis.com/fcm/send/x", "https://web.push.apple.com/x", "https://wns2-am3p.notify.windows.com/w/?token=x"} {
		if err := s.Add(Device{Endpoint: endpoint, P256dh: good.P256dh, Auth: good.Auth}); err != nil {
			t.Errorf("%s: %v", endpoint, err)
		}
	}
	for range maxOwn { // three devices exist already
		s.subscribeSome(t, good)
	}
	s.subscribe(t, service, "bob") // who has their own limit
	if c, err := s.read(); err != nil || len(c.Devices) != maxOwn+1 || slices.ContainsFunc(c.Devices, func(d Device) bool { return d.Since.IsZero() }) {
		t.Errorf("%d devices, %v", len(c.Devices), err)
	}
}

// subscribeSome adds one device, or fails once there is no room.
func (s *Store) subscribeSome(t *testing.T, good *pushservice.Browser) {
	t.Helper()
	c, err := s.read()
	if err != nil {
		t.Fatal(err)
	}
	err = s.Add(Device{Endpoint: good.Endpoint + strings.Repeat("x", len(c.Devices)+1), P256dh: good.P256dh, Auth: good.Auth})
	if full := len(c.Devices) >= maxOwn; full != errors.Is(err, ErrDevice) {
		t.Errorf("with %d devices: %v", len(c.Devices), err)
	}
}
