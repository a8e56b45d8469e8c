package companion

import (
	"testing"

	"callgate/gate"
	"callgate/internal/companion/credentials"
	"callgate/internal/companion/wire"
	"callgate/permissions"
)

// BenchmarkFrame measures the cost of one event for each connected client.
func BenchmarkFrame(b *testing.B) {
	s := newStream(nil, credentials.Approve)
	event := gate.Started{SessionID: "s1", Agent: "main", ID: "call_0123456789abcdef", Tool: "files_read_file", Arguments: []byte(`{"path":"src/main.go"}`), Risk: permissions.ReadOnly}
	defer func(check func([]byte)) { wire.Encoded = check }(wire.Encoded)
	wire.Encoded = nil // leave out the cost of the tests' checks
	c, x := &socket{}, encodings{}
	b.ReportAllocs()
	for b.Loop() {
		if len(x.of(event, c.encode)) != 1 {
			b.Fatal("no frame")
		}
		s.own(event)
	}
}

// BenchmarkIdentify measures the cost of a credential check, with its file reads.
func BenchmarkIdentify(b *testing.B) {
	dir := b.TempDir()
	c, err := credentials.Open(dir)
	if err != nil {
		b.Fatal(err)
	}
	token, err := c.Token(credentials.View)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if name, err := c.Identify(token); err != nil || name != credentials.View {
			b.Fatal(name, err)
		}
	}
}
