package companion

import (
	"testing"

	"callgate/gate"
	"callgate/permissions"
)

// BenchmarkFrame is what one event costs for each connected client.
func BenchmarkFrame(b *testing.B) {
	s := newStream(nil, CredentialApprove)
	event := gate.Started{SessionID: "s1", Agent: "main", ID: "call_0123456789abcdef", Tool: "files_read_file", Arguments: []byte(`{"path":"src/main.go"}`), Risk: permissions.ReadOnly}
	defer func(check func([]byte)) { encoded = check }(encoded)
	encoded = nil // what tests do with a frame is not what it costs
	b.ReportAllocs()
	for b.Loop() {
		for _, frame := range s.frames(event) {
			if _, err := encode(frame); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// BenchmarkIdentify is what a credential check costs, files read included.
func BenchmarkIdentify(b *testing.B) {
	dir := b.TempDir()
	c, err := OpenCredentials(dir)
	if err != nil {
		b.Fatal(err)
	}
	token, err := c.Token(CredentialView)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if name, err := c.identify(token); err != nil || name != CredentialView {
			b.Fatal(name, err)
		}
	}
}
