package companion

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callgate/audit"
	"callgate/gate"
	"callgate/internal/companion/credentials"
	"callgate/internal/companion/wire"
	"callgate/internal/retrieval"
	"callgate/rag"
)

// searched is the real service with a small workspace, for session s1. It does not record people's changes.
type searched struct{ *retrieval.Service }

func (s searched) Reindex(session, path string, force bool, _ audit.Author) ([]retrieval.Status, error) {
	return s.Service.Reindex(session, path, force)
}

func (s searched) Cancel(session, path string, _ audit.Author) ([]retrieval.Status, error) {
	return s.Service.Cancel(session, path)
}

func (s searched) Clear(ctx context.Context, session, path string, _ audit.Author) ([]retrieval.Status, error) {
	return s.Service.Clear(ctx, session, path)
}

func (s searched) AddDocument(ctx context.Context, session, content string, metadata map[string]string, _ audit.Author) (string, error) {
	id, _, err := s.Service.AddDocument(ctx, session, content, metadata)
	return id, err
}

func (s searched) RemoveDocument(ctx context.Context, session, id string, _ audit.Author) (bool, error) {
	return s.Service.RemoveDocument(ctx, session, id)
}

// withRetrieval starts a server whose clients get the index's events through the backend.
func withRetrieval(t *testing.T) (*rig, string) {
	t.Helper()
	root := t.TempDir()
	for name, text := range map[string]string{"garden.go": "package garden\n\n// PlantTree digs a hole.\nfunc PlantTree() {}\n", "secret.txt": "trees"} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	b := newFakeBackend("s1")
	r := start(t, b)
	service := retrieval.New(retrieval.Options{
		Indexes: t.TempDir(), Rules: func() string { return "1" },
		Denied: func(string) (func(string) bool, error) {
			return func(path string) bool { return filepath.Base(path) == "secret.txt" }, nil
		},
		Tell: func(session string, e rag.Event) { b.publish(Indexed{SessionID: session, Event: e}) },
	})
	t.Cleanup(func() {
		if err := service.Close(); err != nil {
			t.Error(err)
		}
	})
	r.options.Backend.Retrieval = searched{service}
	service.Opened("s1", []string{root})
	return r, root
}

// TestKnowledgeBase adds, finds, lists and removes a document over the WebSocket.
func TestKnowledgeBase(t *testing.T) {
	r, _ := withRetrieval(t)
	p := r.join(t, credentials.Approve)
	p.send(`{"v":1,"type":"kb_add","sessionId":"s1","content":"Hooks run at the top level of components.","metadata":{"source":"docs","page":3}}`)
	id, _ := p.want(wire.TypeKBAdded)["documentId"].(string)
	if id == "" {
		t.Fatal("the document has no id")
	}
	p.send(`{"v":1,"type":"kb_search","sessionId":"s1","query":"rules of hooks","limit":5,"threshold":0.1}`)
	results, _ := p.want(wire.TypeKBSearchResult)["results"].([]any)
	if len(results) != 1 || !strings.Contains(fmt.Sprint(results[0]), "top level") || !strings.Contains(fmt.Sprint(results[0]), "page:3") {
		t.Errorf("found %v", results)
	}
	p.send(`{"v":1,"type":"kb_search","sessionId":"s1","query":"rules of hooks","threshold":0.99}`)
	if results, _ := p.want(wire.TypeKBSearchResult)["results"].([]any); len(results) != 0 {
		t.Errorf("above the threshold: %v", results)
	}
	p.send(`{"v":1,"type":"kb_add","sessionId":"s1","content":"` + strings.Repeat("é", 150) + `"}`)
	p.want(wire.TypeKBAdded)
	p.send(`{"v":1,"type":"kb_list","sessionId":"s1"}`)
	list := p.want(wire.TypeKBListResult)
	documents, _ := list["documents"].([]any)
	if list["totalCount"] != 2.0 || len(documents) != 2 || len([]rune(documents[1].(map[string]any)["preview"].(string))) != 100 || documents[1].(map[string]any)["length"] != 150.0 {
		t.Errorf("listed %v", list)
	}
	p.send(fmt.Sprintf(`{"v":1,"type":"kb_remove","sessionId":"s1","documentId":%q}`, id))
	if removed := p.want(wire.TypeKBRemoved); removed["found"] != true || removed["documentId"] != id {
		t.Errorf("removed %v", removed)
	}
	p.send(fmt.Sprintf(`{"v":1,"type":"kb_remove","sessionId":"s1","documentId":%q}`, id))
	if removed := p.want(wire.TypeKBRemoved); removed["found"] != false {
		t.Errorf("removed twice: %v", removed)
	}

	for frame, code := range map[string]string{
		`{"v":1,"type":"kb_add","sessionId":"s1"}`:                                                       wire.CodeBadMessage,
		`{"v":1,"type":"kb_add","sessionId":"s1","content":"x","metadata":[1]}`:                          wire.CodeBadMessage,
		`{"v":1,"type":"kb_add","sessionId":"s1","content":"trees","metadata":{"path":"secret.txt"}}`:    wire.CodeBadMessage,
		`{"v":1,"type":"kb_search","sessionId":"s1"}`:                                                    wire.CodeBadMessage,
		`{"v":1,"type":"kb_search","sessionId":"s1","query":"x","threshold":2}`:                          wire.CodeBadMessage,
		`{"v":1,"type":"kb_remove","sessionId":"s1"}`:                                                    wire.CodeBadMessage,
		`{"v":1,"type":"kb_list","sessionId":"*"}`:                                                       wire.CodeBadMessage,
		`{"v":1,"type":"kb_list"}`:                                                                       wire.CodeBadMessage,
		`{"v":1,"type":"kb_list","sessionId":"nobody"}`:                                                  wire.CodeSessionNotFound,
		`{"v":1,"type":"kb_search","sessionId":"nobody","query":"x"}`:                                    wire.CodeSessionNotFound,
		`{"v":1,"type":"kb_add","sessionId":"nobody","content":"x","metadata":{"path":"file:///x/y/z"}}`: wire.CodeSessionNotFound,
	} {
		p.send(frame)
		if e := p.want(wire.TypeError); e["code"] != code {
			t.Errorf("%s: %v, want %s", frame, e, code)
		}
	}
	watcher := r.join(t, credentials.View)
	watcher.send(`{"v":1,"type":"kb_list","sessionId":"s1"}`)
	watcher.wantError(wire.CodeUnauthorized)
}

func TestKnowledgeBaseIsOff(t *testing.T) {
	r := start(t, newFakeBackend("s1"))
	p := r.join(t, credentials.Approve)
	p.send(`{"v":1,"type":"kb_list","sessionId":"s1"}`)
	if e := p.wantError(wire.CodeBadMessage); !strings.Contains(fmt.Sprint(e["message"]), "rag.enabled") {
		t.Errorf("it says %v", e)
	}
}

// TestIndexByREST checks that people can clear and rebuild an index, and that clients get its progress.
func TestIndexByREST(t *testing.T) {
	r, root := withRetrieval(t)
	p := r.join(t, credentials.View)
	hears := func() {
		started := p.want(wire.TypeIndexStart)
		if started["totalFiles"] != 1.0 || started["sessionId"] != "s1" {
			t.Errorf("told %v", started)
		}
		p.want(wire.TypeIndexProgress)
		if done := p.want(wire.TypeIndexDone); done["fileCount"] != 1.0 || done["chunkCount"] != 1.0 {
			t.Errorf("told %v", done)
		}
	}
	for _, tt := range []struct {
		credential         credentials.Credential
		method, path, body string
		want               int
		says               string
	}{
		{credentials.Approve, "POST", "/api/search?sessionId=s1", `{"query":"digging holes for trees"}`, 200, `"path":"garden.go"`},
		{credentials.View, "GET", "/api/index/status?sessionId=s1", "", 200, `"state":"ready","indexedFiles":1,"totalFiles":1,"fileCount":1`},
		{credentials.View, "GET", "/api/index/status", "", 200, `"fileCount":1`},
		{credentials.View, "GET", "/api/index/status?sessionId=nobody", "", 404, wire.CodeSessionNotFound},
		{credentials.View, "DELETE", "/api/index?sessionId=s1", "", 403, ""},
		{"", "GET", "/api/index/status", "", 401, ""},
		{credentials.Approve, "DELETE", "/api/index?sessionId=s1&path=/elsewhere", "", 404, "no workspace"},
		{credentials.Approve, "DELETE", "/api/index?sessionId=s1", "", 200, `"state":"cleared"`},
		{credentials.Approve, "POST", "/api/search?sessionId=s1", `{"query":"trees"}`, 200, "not complete: it was cleared"},
		{credentials.Approve, "POST", "/api/index?sessionId=s1", fmt.Sprintf(`{"path":%q,"force":true}`, root), 202, `"indexes":[{"path"`},
		{credentials.Approve, "POST", "/api/search?sessionId=s1", `{"query":"PlantTree","limit":1,"path":"*.go","language":"go","kind":"code"}`, 200, `"symbol":"PlantTree"`},
		{credentials.Approve, "POST", "/api/index/cancel?sessionId=s1", `{}`, 200, `"watching":false`},
		{credentials.Approve, "POST", "/api/search?sessionId=s1", `{}`, 400, "query is missing"},
		{credentials.Approve, "POST", "/api/search?sessionId=s1", `{"query":"x","path":"[a"}`, 400, "not a query"},
		{credentials.View, "POST", "/api/search?sessionId=s1", `{"query":"x"}`, 403, ""},
		{credentials.Approve, "POST", "/api/kb?sessionId=s1", `{"content":"Spades are in the shed."}`, 201, `"documentId":"doc-`},
		{credentials.Approve, "POST", "/api/kb", `{"content":"x"}`, 400, "sessionId is missing"},
		{credentials.Approve, "POST", "/api/kb/search?sessionId=s1", `{"query":"spades"}`, 200, `"results":[{"documentId":"doc-`},
		{credentials.View, "GET", "/api/kb?sessionId=s1", "", 200, `"totalCount":1`},
		{credentials.View, "GET", "/api/kb?sessionId=s1&limit=0", "", 400, "limit"},
		{credentials.Approve, "DELETE", "/api/kb/doc-none?sessionId=s1", "", 404, ""},
	} {
		if strings.Contains(tt.path, "/index/cancel") { // before it stops the work that the events report
			hears()
		}
		response, body := r.do(t, tt.credential, tt.method, tt.path, tt.body)
		if response.StatusCode != tt.want || !strings.Contains(body, tt.says) {
			t.Errorf("%s %s %s as %q: %d %s", tt.method, tt.path, tt.body, tt.credential, response.StatusCode, body)
		}
	}
}

func TestIndexIsOff(t *testing.T) {
	r := start(t, newFakeBackend("s1"))
	for _, path := range []string{"GET /api/index/status", "POST /api/index", "DELETE /api/index", "POST /api/index/cancel", "POST /api/search", "GET /api/kb?sessionId=s1", "POST /api/kb?sessionId=s1"} {
		method, path, _ := strings.Cut(path, " ")
		if response, body := r.do(t, credentials.Approve, method, path, `{"query":"x","content":"x"}`); response.StatusCode != http.StatusNotFound || !strings.Contains(body, "rag.enabled") {
			t.Errorf("%s %s: %d %s", method, path, response.StatusCode, body)
		}
	}
}

var _ gate.Event = Indexed{}
