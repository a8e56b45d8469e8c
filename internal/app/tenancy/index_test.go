package tenancy

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"callgate/internal/companion/credentials"
	"callgate/internal/tenants"
)

// A credential is found as soon as its folder is looked at again, wherever it came from. It is forgotten when it is
// replaced.
func TestIndexFollowsTheFolders(t *testing.T) {
	x := &index{dataDir: t.TempDir()}
	finds := func(token, want string, wantHere bool) {
		t.Helper()
		x.looked = time.Time{} // as if the last look were long ago
		if name, here := x.tenant(token); name != want || here != wantHere {
			t.Errorf("it is %q, here %t; want %q, %t", name, here, want, wantHere)
		}
	}
	token := func(s *credentials.Store, name credentials.Credential) string {
		t.Helper()
		text, err := s.Token(name)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	for _, name := range []string{"acme", "beta"} {
		if _, err := credentials.Open(tenants.Dir(x.dataDir, name)); err != nil {
			t.Fatal(err)
		}
	}
	acme := credentials.At(tenants.Dir(x.dataDir, "acme"))
	old := token(acme, credentials.Approve)
	finds(old, "acme", true)
	for _, kept := range []credentials.Credential{credentials.MCP, credentials.Worker, credentials.Hook} {
		finds(token(acme, kept), "", false) // no approver can sign in with it
	}
	// A folder that has not changed for long is not read again.
	past := time.Now().Add(-time.Hour)
	if err := os.Chtimes(credentials.Dir(tenants.Dir(x.dataDir, "acme")), past, past); err != nil {
		t.Fatal(err)
	}
	finds("a token that is nobody's, of some length", "", false)
	if x.folders["acme"].changed.IsZero() || !x.folders["beta"].changed.IsZero() {
		t.Error("a folder is read again, or one that has just changed is not")
	}
	if err := acme.Rotate(credentials.Approve); err != nil {
		t.Fatal(err)
	}
	finds(token(acme, credentials.Approve), "acme", true)
	finds(old, "", false)
	if err := os.RemoveAll(filepath.Dir(credentials.Dir(tenants.Dir(x.dataDir, "beta")))); err != nil {
		t.Fatal(err)
	}
	before, after := make(chan struct{}), make(chan struct{}) // two processes of one replica
	x.hear(before, "gamma", []sum{sumOf(old)})
	finds(old, "gamma", false)
	x.hear(after, "gamma", []sum{sumOf(old)})
	x.forget(before)
	finds(old, "gamma", false)
	x.forget(after)
	finds(old, "", false)
	if _, known := x.folders["beta"]; known {
		t.Error("a folder that is gone is remembered")
	}
}
