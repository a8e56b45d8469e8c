package companion

import (
	"fmt"
	"strings"
	"testing"

	"callgate/audit"
	"callgate/internal/companion/credentials"
	"callgate/internal/push"
)

// fakePusher has at most one device.
type fakePusher struct {
	device push.Device
	who    audit.Author
}

func (f *fakePusher) PushKey() (string, error) { return "key", nil }

func (f *fakePusher) AddDevice(d push.Device, who audit.Author) error {
	if d.Auth == "" {
		return fmt.Errorf("%w: no keys", push.ErrDevice)
	}
	f.device, f.who = d, who
	return nil
}

func (f *fakePusher) RemoveDevice(endpoint string, _ audit.Author) error {
	if f.device.Endpoint == endpoint {
		f.device = push.Device{}
	}
	return nil
}

func TestBrowsersSubscribe(t *testing.T) {
	f := &fakePusher{}
	r := start(t, newFakeBackend())
	if response, body := r.do(t, credentials.Approve, "GET", "/api/push", ""); response.StatusCode != 200 || !strings.Contains(body, `"key":""`) {
		t.Errorf("without a push channel: %d %s", response.StatusCode, body)
	}
	if response, _ := r.do(t, credentials.Approve, "POST", "/api/push", `{"endpoint":"https://x","p256dh":"p","auth":"a"}`); response.StatusCode != 404 {
		t.Errorf("a subscription without a push channel: %d", response.StatusCode)
	}
	r.options.Backend.Pusher = f
	for _, c := range []struct {
		as           credentials.Credential
		method, body string
		status       int
	}{
		{"", "GET", "", 401}, {credentials.View, "GET", "", 403}, {credentials.Approve, "GET", "", 200},
		{credentials.View, "POST", `{"endpoint":"https://x","p256dh":"p","auth":"a"}`, 403},
		{credentials.Approve, "POST", `{"endpoint":"https://x","p256dh":"p","auth":""}`, 400},
		{credentials.Approve, "POST", `{"endpoint":"https://x","p256dh":"p","auth":"a"}`, 200},
	} {
		response, body := r.do(t, c.as, c.method, "/api/push", c.body)
		if response.StatusCode != c.status || c.status == 200 && !strings.Contains(body, `"key":"key"`) {
			t.Errorf("%s %s %s: %d %s", c.as, c.method, c.body, response.StatusCode, body)
		}
	}
	if f.device.Endpoint != "https://x" || f.device.P256dh != "p" || f.who.By == "" {
		t.Errorf("%+v by %+v", f.device, f.who)
	}
	if response, _ := r.do(t, credentials.Approve, "DELETE", "/api/push", `{"endpoint":"https://x"}`); response.StatusCode != 200 || f.device.Endpoint != "" {
		t.Errorf("%d %+v", response.StatusCode, f.device)
	}
}
