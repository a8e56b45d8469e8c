package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// clientMetadata is the client metadata document that the suites expect.
const clientMetadata = "https://conformance-test.local/client-metadata.json"

// maxLogins bounds how often a person signs in when callgate asks: more than any scenario needs.
const maxLogins = 6

// rest is how long a person takes to return to the host. Meanwhile callgate notices the login.
const rest = 1500 * time.Millisecond

// given is what a scenario tells its client, in MCP_CONFORMANCE_CONTEXT.
type given struct {
	ClientID     string `json:"client_id"`
	ClientSecret string `json:"client_secret"`
	Issuer       string `json:"issuer"`
	PrivateKey   string `json:"private_key_pem"`
	Assertion    string `json:"valid_jwt"`
}

// guest is the client of a scenario about authorization: a host in front of callgate, which has the suite's server
// behind it, and a person who signs in whenever callgate asks for it.
type guest struct {
	callgate, dir string
	common        []string // arguments of every callgate
}

// signIn plays the client for the server at url.
func signIn(ctx context.Context, callgate, url string) (err error) {
	dir, err := os.MkdirTemp("", "callgate-conformance-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	c := &guest{callgate: callgate, dir: dir}
	if err := c.configure(ctx, url); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, callgate, append([]string{"run", "--listen", "off"}, c.common...)...)
	cmd.Stderr = os.Stderr
	host, err := mcp.NewClient(&mcp.Implementation{Name: "conformance", Version: "1"}, nil).
		Connect(ctx, &mcp.CommandTransport{Command: cmd, TerminateDuration: 5 * time.Second}, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, host.Close()) }()
	for logins := 0; ; logins++ {
		said, err := call(ctx, host)
		if said == "" || err != nil {
			return err
		}
		fmt.Fprintln(os.Stderr, "the call said:", said)
		if !strings.Contains(said, `"callgate login conformance"`) {
			return fmt.Errorf("the call failed: %s", said)
		}
		if logins == maxLogins {
			return fmt.Errorf("callgate asks to sign in again after %d times", logins)
		}
		if err := c.login(ctx); err != nil {
			return err
		}
		time.Sleep(rest)
	}
}

// call lists the tools and calls one. said is what the model would read instead of the tool's answer; "" if the answer
// came.
func call(ctx context.Context, host *mcp.ClientSession) (said string, err error) {
	if _, err := host.ListTools(ctx, nil); err != nil {
		return "", err
	}
	result, err := host.CallTool(ctx, &mcp.CallToolParams{Name: "conformance_test-tool", Arguments: map[string]any{}})
	if err != nil {
		return err.Error(), nil
	}
	if !result.IsError {
		return "", nil
	}
	text, err := json.Marshal(result.Content)
	return strings.ReplaceAll(string(text), `\"`, `"`), err
}

// configure writes the files that a user would write for the scenario.
func (c *guest) configure(ctx context.Context, url string) error {
	var g given
	if text := os.Getenv("MCP_CONFORMANCE_CONTEXT"); text != "" {
		if err := json.Unmarshal([]byte(text), &g); err != nil {
			return fmt.Errorf("MCP_CONFORMANCE_CONTEXT: %w", err)
		}
	}
	scenario := os.Getenv("MCP_CONFORMANCE_SCENARIO")
	oauth := map[string]any{}
	set := func(key, value string) {
		if value != "" {
			oauth[key] = value
		}
	}
	set("clientId", g.ClientID)
	set("clientSecret", g.ClientSecret)
	set("issuer", g.Issuer)
	if scenario == "auth/basic-cimd" {
		set("clientMetadata", clientMetadata)
	}
	for name, text := range map[string]string{"privateKey": g.PrivateKey, "assertion": g.Assertion} {
		if text == "" {
			continue
		}
		set(name, filepath.Join(c.dir, name))
		if err := os.WriteFile(filepath.Join(c.dir, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	switch {
	case strings.HasPrefix(scenario, "auth/client-credentials"):
		set("grant", "client_credentials")
	case g.Assertion != "":
		set("grant", "jwt_bearer")
	}
	if oauth["grant"] != nil { // whoever registered the client knows where
		issuer, err := issuerOf(ctx, url)
		if err != nil {
			return err
		}
		set("issuer", issuer)
	}
	server := map[string]any{"name": "conformance", "url": url}
	if len(oauth) > 0 {
		server["oauth"] = oauth
	}
	var err error
	c.common, err = configure(c.dir, server)
	return err
}

// issuerOf reads the authorization server's address from the server's metadata.
func issuerOf(ctx context.Context, url string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.Replace(url, "/mcp", "/.well-known/oauth-protected-resource/mcp", 1), nil)
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	var found struct {
		Servers []string `json:"authorization_servers"`
	}
	if err := json.NewDecoder(response.Body).Decode(&found); err != nil || len(found.Servers) == 0 {
		return "", fmt.Errorf("the scenario's server names no authorization server: %w", err)
	}
	return found.Servers[0], nil
}

var signInAddress = regexp.MustCompile(`https?://\S+`)

// login runs callgate login, with a browser whose user agrees to everything.
func (c *guest) login(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, c.callgate, append([]string{"login", "conformance", "--print"}, c.common...)...)
	out, in := io.Pipe()
	cmd.Stdout, cmd.Stderr = in, os.Stderr
	if err := cmd.Start(); err != nil {
		return err
	}
	visited := make(chan error, 1)
	go func() { visited <- visit(ctx, out) }()
	err := cmd.Wait()
	in.Close()
	return errors.Join(err, <-visited)
}

// visit opens the address that callgate prints, and follows its redirects.
func visit(ctx context.Context, out io.Reader) error {
	var said strings.Builder
	buffer := make([]byte, 4096)
	for {
		n, err := out.Read(buffer)
		said.Write(buffer[:n])
		if address := signInAddress.FindString(said.String()); address != "" && strings.HasSuffix(said.String(), "\n") {
			go func() { _, _ = io.Copy(io.Discard, out) }() // callgate's last words; its exit code counts
			return browse(ctx, address)
		}
		if err != nil {
			return nil // callgate had no address to show, and said why
		}
	}
}

func browse(ctx context.Context, address string) error {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	response, err := (&http.Client{Jar: jar, Timeout: 20 * time.Second}).Do(request)
	if err != nil {
		return err
	}
	return response.Body.Close()
}
