//go:build !nonats

package cluster

import (
	"encoding/json"
	"fmt"
	"io"

	natsserver "github.com/nats-io/nats-server/v2/server"
)

// report writes what the embedded NATS knows of its streams, their leaders and its connections.
func (s *server) report(w io.Writer) {
	one := s.nats.Load()
	streams, err := one.Jsz(&natsserver.JSzOptions{Accounts: true, Streams: true, Consumer: true, RaftGroups: true})
	fmt.Fprintln(w, "streams:", err)
	routes, failed := one.Routez(nil)
	text := json.NewEncoder(w)
	for _, what := range []any{streams, one.Raftz(&natsserver.RaftzOptions{}), routes} {
		if err := text.Encode(what); err != nil {
			fmt.Fprintln(w, err)
		}
	}
	fmt.Fprintln(w, "routes:", failed)
}
