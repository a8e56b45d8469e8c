package channels

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"callgate/internal/companion/wire"
	"callgate/internal/push"
	"callgate/internal/testserver/pushservice"
)

func TestPush(t *testing.T) {
	service := pushservice.New(t)
	u, err := url.Parse(service.URL)
	if err != nil {
		t.Fatal(err)
	}
	store := push.Open(t.TempDir(), "https://gate.example.com", u.Host)
	key, err := store.Key()
	if err != nil {
		t.Fatal(err)
	}
	for _, person := range []string{"alice", "gone"} {
		b := service.Subscribe(key)
		if err := store.Add(push.Device{Endpoint: b.Endpoint, P256dh: b.P256dh, Auth: b.Auth, Person: person}); err != nil {
			t.Fatal(err)
		}
	}
	g := newGate()
	stop := start(t, g, Channel{Name: "phone", Place: NewPush(store, func(person string) bool { return person != "gone" }), Page: "https://gate.example.com", Told: true})
	defer stop()
	g.ask("c1", "high", func(f *wire.ToolApproveRequest) {
		f.Args = json.RawMessage(`{"command":"` + strings.Repeat(`<\"`, 400) + `"}`)
	})
	question := <-service.Got
	var said pushed
	if err := json.Unmarshal(question.Payload, &said); err != nil || len(question.Payload) > push.MaxPayload {
		t.Fatalf("%v, %d bytes", err, len(question.Payload))
	}
	if said.Open != "#/approvals/c1" || said.Over || !strings.Contains(said.Title, "high risk") || strings.Contains(said.Body, "denied here") || question.Urgency != "high" {
		t.Errorf("%+v, %s", said, question.Urgency)
	}
	g.say(&wire.ToolApproveResolved{ToolCallID: "c1", Decision: "reject", By: "web:alice"})
	end := <-service.Got
	var over pushed
	if err := json.Unmarshal(end.Payload, &over); err != nil || over.Tag != said.Tag || !over.Over || over.Body != "Denied by web:alice" || end.Topic != question.Topic || end.Urgency == "high" {
		t.Errorf("%v %+v", err, over)
	}
	if len(service.Got) > 0 {
		t.Error("somebody without a credential was told")
	}
}
