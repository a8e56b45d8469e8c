package companion

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"callgate/audit"
	"callgate/internal/checkpoint"
	"callgate/internal/companion/credentials"
)

// fakeCheckpoints has one checkpoint. A file has changed since.
type fakeCheckpoints struct {
	paths []string
	by    string
}

var kept = checkpoint.Checkpoint{
	ID: "ck_1", CallID: "call_1", Tool: "fs_write_file", SessionID: "s1", Worker: "default", Workspace: "/work", CreatedAt: time.Unix(1, 0).UTC(), Ended: true,
	Changed: []checkpoint.Change{
		{Path: "/home/alice/app/a.txt", Before: checkpoint.Entry{Kind: checkpoint.File, Mode: 0o644, Size: 3}, After: checkpoint.Entry{Kind: checkpoint.File, Mode: 0o600}},
		{Path: "/home/alice/app/b.txt", Before: checkpoint.Entry{Kind: checkpoint.Absent}, After: checkpoint.Entry{Kind: checkpoint.File}},
	},
}

func (f *fakeCheckpoints) Checkpoints(sessionID string, limit int) ([]CheckpointView, error) {
	if sessionID != "" && sessionID != "s1" {
		return nil, nil
	}
	return []CheckpointView{ViewCheckpoint(&kept, limit)}, nil
}

func (f *fakeCheckpoints) CheckpointDiff(_ context.Context, id string, paths []string) ([]checkpoint.FileDiff, error) {
	if id != "ck_1" {
		return nil, fmt.Errorf("%w: %q", checkpoint.ErrUnknown, id)
	}
	f.paths = paths
	return []checkpoint.FileDiff{
		{Path: "/home/alice/app/a.txt", What: "changed", Before: kept.Changed[0].Before, Now: kept.Changed[0].After, Diff: "@@ -1 +1 @@\n-a\n+b\n", ChangedSince: true},
		{Path: "/home/alice/app/.env", What: "changed", Before: kept.Changed[0].Before, Now: kept.Changed[0].After, Hidden: true},
		{Path: "/home/alice/app/bin", What: "created", Before: checkpoint.Entry{Kind: checkpoint.Absent}, Now: checkpoint.Entry{Kind: checkpoint.LeftOut, Why: "larger", Stamp: 1}, Binary: true},
	}, nil
}

func (f *fakeCheckpoints) RestoreCheckpoint(_ context.Context, id string, what CheckpointRestore, who audit.Author) (*checkpoint.Restored, error) {
	switch {
	case id != "ck_1":
		return nil, fmt.Errorf("%w: %q", checkpoint.ErrUnknown, id)
	case !what.Force:
		return nil, &checkpoint.ConflictError{Conflicts: []checkpoint.Conflict{{Path: "/home/alice/app/a.txt", Why: "it has changed since"}}}
	}
	f.by, f.paths = who.By, what.Paths
	return &checkpoint.Restored{ID: id, Checkpoint: "ck_2", Stray: []string{"/home/alice/app/a.txt.1234.tmp"}, Files: []string{"/home/alice/app/a.txt"}, Failed: []checkpoint.Conflict{{Path: "/home/alice/app/b.txt", Why: "no"}}}, nil
}

func TestCheckpointsByREST(t *testing.T) {
	r := start(t, newFakeBackend("s1"))
	for _, method := range []string{"GET /api/checkpoints", "GET /api/checkpoints/ck_1/diff", "POST /api/checkpoints/ck_1/restore"} {
		verb, path, _ := strings.Cut(method, " ")
		if response, body := r.do(t, credentials.Approve, verb, path, `{"force":true}`); response.StatusCode != http.StatusNotFound || !strings.Contains(body, "checkpoints are off") {
			t.Errorf("%s without checkpoints: %d %s", method, response.StatusCode, body)
		}
	}
	fake := &fakeCheckpoints{}
	r.options.Backend.Checkpoints = fake
	for _, tt := range []struct {
		credential credentials.Credential
		method     string
		path, body string
		want       int
		says       string
	}{
		{credentials.View, "GET", "/api/checkpoints", "", 200, `[{"id":"ck_1","toolCallId":"call_1","tool":"fs_write_file","sessionId":"s1"`},
		{credentials.View, "GET", "/api/checkpoints", "", 200, `"files":[{"path":"/home/alice/app/a.txt","state":"file","size":3,"change":"changed"},{"path":"/home/alice/app/b.txt","state":"absent","size":0,"change":"created"}]`},
		{credentials.View, "GET", "/api/checkpoints?limit=1", "", 200, `"more":1`},
		{credentials.View, "GET", "/api/checkpoints?sessionId=other", "", 200, `[]`},
		{credentials.View, "GET", "/api/checkpoints?limit=0", "", 400, "limit"},
		{credentials.MCP, "GET", "/api/checkpoints", "", 401, ""},
		{"", "GET", "/api/checkpoints/ck_1/diff", "", 401, ""},
		{credentials.View, "GET", "/api/checkpoints/ck_1/diff?path=/home/alice/app/a.txt&path=/home/alice/app/b", "", 200, `"changedSince":true`},
		{credentials.View, "GET", "/api/checkpoints/ck_9/diff", "", 404, "no such checkpoint"},
		{credentials.View, "POST", "/api/checkpoints/ck_1/restore", `{"force":true}`, 403, ""},
		{credentials.MCP, "POST", "/api/checkpoints/ck_1/restore", `{"force":true}`, 401, ""},
		{credentials.Approve, "POST", "/api/checkpoints/ck_1/restore", `{}`, 409, `"conflicts":[{"path":"/home/alice/app/a.txt","why":"it has changed since"}]`},
		{credentials.Approve, "POST", "/api/checkpoints/ck_1/restore", `{"force":"yes"}`, 400, ""},
		{credentials.Approve, "POST", "/api/checkpoints/ck_9/restore", `{"force":true}`, 404, "no such checkpoint"},
		{credentials.Approve, "POST", "/api/checkpoints/ck_1/restore", `{"force":true,"paths":["/home/alice/app/a.txt"]}`, 200, `"checkpoint":"ck_2","files":["/home/alice/app/a.txt"]`},
		{credentials.Approve, "GET", "/api/checkpoints/ck_1/restore", "", 405, ""},
	} {
		response, body := r.do(t, tt.credential, tt.method, tt.path, tt.body)
		if response.StatusCode != tt.want || !strings.Contains(body, tt.says) {
			t.Errorf("%s %s %s as %q: %d %s", tt.method, tt.path, tt.body, tt.credential, response.StatusCode, body)
		}
	}
	if fake.by != "rest" || len(fake.paths) != 1 {
		t.Errorf("restored %v by %q", fake.paths, fake.by)
	}
}
