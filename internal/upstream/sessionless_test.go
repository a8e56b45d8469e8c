package upstream

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// A server without sessions cannot ask a legacy host anything in the legacy era. It is met in the modern era if it
// speaks that and the host can be asked. Servers with sessions, and those that speak only the legacy era, are met in
// that.
func TestSessionlessServers(t *testing.T) {
	legacy := []string{"2025-11-25", "2025-06-18"}
	both := append([]string{modernVersion}, legacy...)
	const asked = `{"elicitation":{}}`
	for name, c := range map[string]struct {
		versions  []string
		stateless bool
		can       string
		only      Era
		want      string
		discovers int
	}{
		"both, without sessions":         {both, true, asked, AnyEra, modernVersion, 1},
		"both, nothing to ask":           {both, true, `{"roots":null}`, AnyEra, "2025-11-25", 0},
		"both, legacy wanted":            {both, true, asked, Legacy, "2025-11-25", 0},
		"both, with sessions":            {both, false, asked, AnyEra, "2025-11-25", 0},
		"legacy alone, without sessions": {legacy, true, asked, AnyEra, "2025-11-25", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := sdk.NewServer(&sdk.Implementation{Name: "s", Version: "1"}, &sdk.ServerOptions{SupportedProtocolVersions: c.versions, Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}}})
			handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, &sdk.StreamableHTTPOptions{Stateless: c.stateless})
			var mu sync.Mutex
			discovers := 0
			web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Mcp-Method") == "server/discover" {
					mu.Lock()
					discovers++
					mu.Unlock()
				}
				handler.ServeHTTP(w, r)
			}))
			t.Cleanup(web.Close)
			t.Cleanup(web.CloseClientConnections)
			dir := t.TempDir()
			for range 2 { // known the second time
				u := New(Config{Name: "s", URL: web.URL, terms: Terms{Era: c.only}}, Options{CacheDir: dir, Logger: logger(t)})
				t.Cleanup(u.Close)
				u.Start(Hello{Era: Legacy, ProtocolVersion: "2025-11-25", Capabilities: []byte(c.can), ClientInfo: hello.ClientInfo})
				info, err := u.Ready(short(t))
				if err != nil {
					t.Fatal(err)
				}
				if info.ProtocolVersion != c.want {
					t.Errorf("it is spoken to in %s, want %s", info.ProtocolVersion, c.want)
				}
				if _, err := u.Lists.Fresh(short(t), Tools); err != nil {
					t.Error(err)
				}
				u.Close()
			}
			want := c.discovers
			if c.want == modernVersion {
				want = 2 // that is how a modern server is met
			}
			mu.Lock()
			defer mu.Unlock()
			if discovers != want {
				t.Errorf("it was asked for its era %d times, want %d", discovers, want)
			}
		})
	}
}
