package push

import (
	"errors"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"callgate/internal/testserver/pushservice"
)

func anybody(string) bool { return true }

// open is a store that sends to the service, too.
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
	for _, b := range browsers {
		m := <-service.Got
		if m.Browser != b || string(m.Payload) != `{"title":"x"}` || m.Topic != "topic" || m.TTL != "60" || m.Urgency != "high" || m.Subject != "https://gate.example.com" {
			t.Errorf("%+v %s", m, m.Payload)
		}
	}
	// Another data directory's key is not what the browser subscribed with.
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
	for range maxOwn { // three are there
		s.subscribeSome(t, good)
	}
	s.subscribe(t, service, "bob") // who has room of their own
	if c, err := s.read(); err != nil || len(c.Devices) != maxOwn+1 || slices.ContainsFunc(c.Devices, func(d Device) bool { return d.Since.IsZero() }) {
		t.Errorf("%d devices, %v", len(c.Devices), err)
	}
}

// subscribeSome adds one more until there is no room.
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
