package proxy

import (
	"fmt"
	"testing"
)

// BenchmarkCall is one allowed call from the host's pipe through the gate, on record, to a server in another
// process and back. What the server's process does is in the time and not in the allocations.
func BenchmarkCall(b *testing.B) {
	for _, size := range []int{5, 100 << 10} {
		b.Run(fmt.Sprintf("%dB", size), func(b *testing.B) {
			w := newWorld(b, `{ "*": "allow" }`, false, []string{"s"}, script{Lists: map[string]string{"tools/list": oneTool}})
			h := w.connect()
			h.send(`{"jsonrpc":"2.0","id":"init","method":"initialize","params":` + helloParams + `}`)
			h.read()
			text := make([]byte, size)
			for i := range text {
				text[i] = 'x'
			}
			line := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"s_do","arguments":{"text":"%s"}}}`, text)
			call := func() {
				h.send(line)
				for {
					answer, err := h.out.ReadSlice('\n')
					if err != nil {
						b.Fatal(err)
					}
					if len(answer) > size && answer[0] == '{' {
						return
					}
				}
			}
			call()
			b.ReportAllocs()
			for b.Loop() {
				call()
			}
		})
	}
}
