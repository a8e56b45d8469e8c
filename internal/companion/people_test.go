package companion

import (
	"errors"
	"io/fs"
	"net/http"
	"strings"
	"testing"

	"callgate/internal/companion/credentials"
	"callgate/internal/companion/wire"
)

func personal(t *testing.T, r *rig, name string) credentials.Credential {
	t.Helper()
	c := credentials.Credential(name)
	if err := r.credentials.Add(c); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestAPersonsCredentialNamesThePerson(t *testing.T) {
	hub := start(t, newFakeBackend("s1"))
	b := newFakeBackend("s2")
	for _, id := range []string{"call_1", "call_2", "call_3", "call_4"} {
		b.ask(approvalOf("s2", id))
	}
	hub.joined(t, b)
	meet(t, hub, 1)
	alice, bob := personal(t, hub, "approve@alice"), personal(t, hub, "view@bob")

	// Over WebSocket, whatever name the client gives, and through the hub.
	target := hub.target()
	target.Credential, target.Client.Name = alice, "mallory"
	c := dial(t, target)
	f := await(t, c, func(f *wire.ToolApproveRequest) bool { return f.ToolCallID == "call_1" })
	if err := c.Answer(wire.ToolApprove{Head: wire.Head{SessionID: "s2"}, ToolCallID: f.ToolCallID, ArgsDigest: f.ArgsDigest, Decision: "approve"}); err != nil {
		t.Fatal(err)
	}
	if f := await(t, c, func(f *wire.ToolApproveResolved) bool { return f.ToolCallID == "call_1" }); f.By != "tui:alice" {
		t.Errorf("answered by %s", f.By)
	}
	// Over REST.
	answer := func(as credentials.Credential, id string, headers ...string) int {
		response, _ := hub.do(t, as, "POST", "/api/approvals/"+id, `{"sessionId":"s2","argsDigest":"d-`+id+`","decision":"approve"}`, headers...)
		return response.StatusCode
	}
	if got := answer(alice, "call_2", wire.ClientHeader, "web:mallory"); got != 200 {
		t.Errorf("alice: %d", got)
	}
	// Nobody else can use the name.
	for _, name := range []string{"alice", "Alice", " alice", "bob"} {
		if got := answer(credentials.Approve, "call_3", wire.ClientHeader, "web:"+name); got != http.StatusForbidden {
			t.Errorf("somebody as %q: %d", name, got)
		}
	}
	target = hub.target() // its client uses the name alice without proof
	taken := dial(t, target)
	if f := await[wire.Disconnected](t, taken, nil); !f.Final || !errors.Is(f.Err, wire.ErrNameTaken) {
		t.Errorf("%+v", f)
	}
	if got := answer(credentials.Approve, "call_3", wire.ClientHeader, "web:carol"); got != 200 {
		t.Errorf("carol: %d", got)
	}
	// A viewer stays a viewer, and a removed person is nobody.
	if got := answer(bob, "call_4"); got != http.StatusForbidden {
		t.Errorf("bob: %d", got)
	}
	if err := hub.credentials.Remove(alice); err != nil {
		t.Fatal(err)
	}
	if err := c.Answer(wire.ToolApprove{Head: wire.Head{SessionID: "s2"}, ToolCallID: "call_4", ArgsDigest: "d-call_4", Decision: "approve"}); err != nil {
		t.Fatal(err)
	}
	if f := await[*wire.Error](t, c, nil); f.Code != wire.CodeUnauthorized {
		t.Errorf("%+v", f)
	}
	var by []string
	for _, a := range b.applied() {
		by = append(by, a.By)
	}
	if got := strings.Join(by, " "); got != "tui:alice web:alice web:carol" {
		t.Errorf("on record: %s", got)
	}
}

func TestAPersonPairsAPageAsThemselves(t *testing.T) {
	r := start(t, newFakeBackend("s1"))
	alice := personal(t, r, "approve@alice")
	for _, tt := range []struct {
		name   string
		as     credentials.Credential
		body   string
		status int
	}{
		{"for herself", alice, `{"credential":"approve","name":"mallory"}`, 200},
		{"for another", alice, `{"credential":"approve@bob"}`, 200}, // still hers
		{"by the owner", credentials.Approve, `{"credential":"approve@alice","name":"mallory"}`, 200},
		{"in her name", credentials.Approve, `{"credential":"approve","name":"alice"}`, 403},
		{"what pairs nobody", credentials.Approve, `{"credential":"mcp@alice"}`, 400},
	} {
		response, body := r.do(t, tt.as, "POST", "/api/pair", tt.body)
		if response.StatusCode != tt.status {
			t.Errorf("%s: %d %s", tt.name, response.StatusCode, body)
		}
		if tt.status != 200 {
			continue
		}
		code := body[strings.Index(body, `"code":"`)+8:][:43]
		_, body = r.do(t, "", "POST", "/api/pair/redeem", `{"code":"`+code+`"}`)
		if !strings.Contains(body, r.token(t, alice)) || !strings.Contains(body, `"secret":"approve@alice"`) || !strings.Contains(body, `"credential":"approve"`) || !strings.Contains(body, `"name":"alice"`) {
			t.Errorf("%s: redeemed for %s", tt.name, body)
		}
	}
}

// A page that only watches gets the credential that belongs to nobody, and so not a name that this one cannot prove.
func TestAPersonPairsAPageThatWatches(t *testing.T) {
	r := start(t, newFakeBackend("s1"))
	alice, bob := personal(t, r, "approve@alice"), personal(t, r, "view@bob")
	for _, wanted := range []string{"view", string(bob)} {
		response, body := r.do(t, alice, "POST", "/api/pair", `{"credential":"`+wanted+`","name":"mallory"}`)
		if response.StatusCode != 200 {
			t.Fatalf("%q: %d %s", wanted, response.StatusCode, body)
		}
		code := body[strings.Index(body, `"code":"`)+8:][:43]
		_, body = r.do(t, "", "POST", "/api/pair/redeem", `{"code":"`+code+`"}`)
		if !strings.Contains(body, r.token(t, credentials.View)) || !strings.Contains(body, `"name":""`) || !strings.Contains(body, `"secret":"view"`) {
			t.Errorf("%q: redeemed for %s", wanted, body)
		}
	}
}

func TestNamesOfPersons(t *testing.T) {
	r := start(t, newFakeBackend("s1"))
	personal(t, r, "approve@alice")
	for _, name := range []credentials.Credential{"approve@alice", "view@alice", "view@ALICE", "view@a1ice", "view@aIice"} {
		if err := r.credentials.Add(name); !errors.Is(err, fs.ErrExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, person := range []string{"", ".", "..", "../x", "a/b", "a b", "-x", strings.Repeat("a", 64), "@b"} {
		if c, err := credentials.Of(credentials.Approve, person); err == nil {
			t.Errorf("%q is %s", person, c)
		}
	}
	for _, role := range []credentials.Credential{credentials.MCP, credentials.Worker, "", "approve@x"} {
		if c, err := credentials.Of(role, "alice"); err == nil {
			t.Errorf("%q is %s", role, c)
		}
	}
	if err := r.credentials.Remove(credentials.Approve); err == nil {
		t.Error("the credential of everybody was removed")
	}
	if got, err := r.credentials.People(); err != nil || len(got) != 1 || got[0] != "approve@alice" {
		t.Errorf("%s, %v", got, err)
	}
}

// Nobody can use a name that people could mistake for that of a person with a credential.
func TestNamesThatLookLikeAPersons(t *testing.T) {
	r := start(t, newFakeBackend("s1"))
	personal(t, r, "approve@alice")
	personal(t, r, "approve@coco")
	for name, want := range map[string]bool{
		"alice": false, "ALICE": false, " alice ": false, "аlice": false, "al\u200bice": false, "a\u00adlice": false, "ａｌｉｃｅ": false, "𝐚𝐥𝐢𝐜𝐞": false, "a1ice": false,
		"aIice": false, "álice": false, "alicе": false, "αlice": false, "сосо": false, "ϲοϲο": false, "c0c0": false, "alice\ufe0f": false, "ali\u3164ce": false, "ꭺlice": false,
		"Ꭺlice": false, "aƖice": false, "bоb": false, "channels/bоb": false, // of two scripts
		"bob": true, "Дмитрий": true, "明": true, "さくら桜": true, "alice2": true, "alicia": true, "Zoë": true, "محمد": true, "channels/Дмитрий": true,
	} {
		if got := r.may.refuseTaken(name) == nil; got != want {
			t.Errorf("%+q (%s): may be used: %v", name, credentials.Skeleton(name), got)
		}
	}
}
