package command

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/rogpeppe/go-internal/testscript"

	"callgate/internal/endpoint"
	"callgate/proxy"
)

// arrival is a response that is read as it arrives.
type arrival struct {
	mu   sync.Mutex
	text bytes.Buffer
	end  error // how it ended; nil until then
	stop func()
}

func (a *arrival) Write(p []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.text.Write(p)
}

func (a *arrival) so() (text []byte, end error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return bytes.Clone(a.text.Bytes()), a.end
}

// endpointURL returns where the story's callgate serves hosts.
func endpointURL(ts *testscript.TestScript) string {
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		if ports := endpoint.Ports(ts.Getenv("DATA")); len(ports) == 1 {
			return "http://127.0.0.1:" + ports[0]
		} else if time.Now().After(deadline) {
			ts.Fatalf("%d endpoints are announced, want one", len(ports))
		}
	}
}

// cmdHTTP makes a request to the endpoint for hosts, as TestStories describes.
func cmdHTTP(ts *testscript.TestScript, neg bool, args []string) {
	url := endpointURL(ts)
	ts.Setenv("MCPPORT", url[strings.LastIndexByte(url, ':')+1:])
	header := http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
	if token, err := os.ReadFile(filepath.Join(ts.Getenv("DATA"), "credentials", "mcp")); err == nil {
		header.Set("Authorization", "Bearer "+string(token))
	}
	background, until := "", regexp.MustCompile("")
	for len(args) > 1 && strings.HasPrefix(args[0], "-") {
		if args[0] == "-stateless" {
			stateless(header, []byte(args[len(args)-1]))
			args = args[1:]
			continue
		}
		switch args[0] {
		case "-bg":
			background = args[1]
		case "-until":
			until = regexp.MustCompile("(?s)" + args[1])
		case "-H":
			name, value, _ := strings.Cut(args[1], ": ")
			if header.Del(name); value != "" {
				header.Set(name, value)
			}
		}
		args = args[2:]
	}
	body := ""
	if len(args) > 2 {
		body = args[2]
	}
	r, err := http.NewRequest(args[0], url+args[1], strings.NewReader(body))
	ts.Check(err)
	r.Header = header
	if host := header.Get("Host"); host != "" {
		r.Host = host
	}
	for deadline := time.Now().Add(patience); background == ""; time.Sleep(20 * time.Millisecond) {
		response, err := (&http.Client{Timeout: patience}).Do(r)
		ts.Check(err)
		text, err := io.ReadAll(response.Body)
		response.Body.Close()
		ts.Check(err)
		if !until.Match(text) && time.Now().Before(deadline) {
			r.Body = io.NopCloser(strings.NewReader(body))
			continue
		}
		fmt.Fprint(ts.Stdout(), heading(response), string(text), "\n")
		if (response.StatusCode < 300) == neg || !until.Match(text) {
			ts.Fatalf("%s %s: %s: %s", args[0], args[1], response.Status, text)
		}
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	a := &arrival{stop: stop}
	ts.Value(storyKey{}).(*story).arrivals[background] = a
	go func() {
		response, err := http.DefaultClient.Do(r.WithContext(ctx))
		if err == nil {
			fmt.Fprint(a, heading(response))
			_, err = io.Copy(a, response.Body)
			response.Body.Close()
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.end = err; err == nil {
			a.end = io.EOF
		}
	}()
}

// stateless sets the headers of a request of 2026-07-28.
func stateless(header http.Header, body []byte) {
	var m struct {
		Method string
		Params json.RawMessage
	}
	if json.Unmarshal(body, &m) != nil {
		return
	}
	header.Set(mcp.HeaderProtocolVersion, proxy.StatelessVersion)
	for name, value := range mcp.StandardHeaders(proxy.StatelessVersion, mcp.MCPMethod(m.Method), m.Params) {
		header.Set(name, value)
	}
}

// heading returns the status and the headers of a response.
func heading(r *http.Response) string {
	var b strings.Builder
	fmt.Fprintln(&b, r.StatusCode)
	names := []string{}
	for name := range r.Header {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		fmt.Fprintf(&b, "%s: %s\n", name, strings.Join(r.Header[name], ", "))
	}
	return b.String() + "\n"
}

// cmdArrived waits until the response to a background request matches.
func cmdArrived(ts *testscript.TestScript, neg bool, args []string) {
	a := ts.Value(storyKey{}).(*story).arrivals[args[0]]
	if a == nil {
		ts.Fatalf("no request is called %s", args[0])
	}
	if args[1] == "-close" {
		a.stop()
		return
	}
	pattern := regexp.MustCompile("(?s)" + args[1])
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		text, end := a.so()
		switch {
		case pattern.Match(text) && neg:
			ts.Fatalf("%s has arrived: %s", args[1], text)
		case pattern.Match(text) || neg:
			fmt.Fprintf(ts.Stdout(), "%s\n", text)
			return
		case end != nil || time.Now().After(deadline):
			ts.Fatalf("no %s, and the end %v: %s", args[1], end, text)
		}
	}
}
