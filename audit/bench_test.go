package audit

import (
	"fmt"
	"strings"
	"testing"
)

// typical returns a record like that of an allowed shell call.
func typical() Record {
	return Record{
		Event: Decision, CallID: "call_18f3a2b4c5d6e7f8", SessionID: "stdio-4f1c9a", Worker: "default",
		Server: "commands", Tool: "commands_run", Kind: "shell_exec", Decision: "auto_approved", Risk: "READ_ONLY",
		By: "rule", Rule: `shell_exec "git *" allow (permissions.jsonc:12, file)`, Reason: "allowed by a rule",
		Summary:   `runs "git status --short" in "/home/alice/src/app"`,
		Digest:    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
		Arguments: []byte(`{"command":"git status --short","cwd":"/home/alice/src/app","timeout":30}`),
		Subjects: []Subject{{
			Tool: "commands_run", Kind: "shell_exec", Value: "git status --short", Action: "allow",
			Rule: `shell_exec "git *" allow (permissions.jsonc:12, file)`, Risk: "READ_ONLY",
		}},
	}
}

func BenchmarkAppend(b *testing.B) {
	l, err := Open(b.TempDir(), Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	r := typical()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := l.Append(r); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRedactAndEncode(b *testing.B) {
	r := typical()
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		r := r
		r.redact(4<<10, 32<<10)
		buf, _ = appendSealed(r.appendBody(buf[:0]))
	}
	b.SetBytes(int64(len(buf)))
}

func BenchmarkRedact(b *testing.B) {
	r := typical()
	b.ReportAllocs()
	for b.Loop() {
		r := r
		r.redact(4<<10, 32<<10)
	}
}

func BenchmarkReadNewest(b *testing.B) {
	dir := b.TempDir()
	for range 20 {
		l, err := Open(dir, Options{})
		if err != nil {
			b.Fatal(err)
		}
		for range 1000 {
			if _, err := l.Append(typical()); err != nil {
				b.Fatal(err)
			}
		}
		if err := l.Close(); err != nil {
			b.Fatal(err)
		}
	}
	for _, limit := range []int{10, 1000} {
		b.Run(fmt.Sprintf("%dof20000", limit), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				n := 0
				for _, err := range Read(dir, Filter{Limit: limit}) {
					if err != nil {
						b.Fatal(err)
					}
					n++
				}
				if n != limit {
					b.Fatalf("%d records, want %d", n, limit)
				}
			}
		})
	}
	b.Run("verify", func(b *testing.B) {
		for b.Loop() {
			if r, err := Verify(dir); err != nil || !r.OK() || r.Records != 20000 {
				b.Fatal(r.Breaks, r.Records, err)
			}
		}
	})
}

// BenchmarkRedactHostile redacts texts that are made to be scanned again and again.
func BenchmarkRedactHostile(b *testing.B) {
	for _, unit := range []string{"sk-", "password=", "://", "a:b@", "--token ", "Bearer ", "-----BEGIN ", `\"`, "eyJ."} {
		text := strings.Repeat(unit, 64<<10/len(unit))
		b.Run(unit, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				cutSecrets(text)
			}
		})
	}
}
