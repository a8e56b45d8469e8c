package config

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"callgate/internal/companion/credentials"
	"callgate/internal/endpoint"
	"callgate/internal/lazyregexp"
	"callgate/internal/spelling"
	"callgate/internal/tenants"
	"callgate/proxy"
)

// ServeConfig says how hosts are served over HTTP.
type ServeConfig struct {
	MCPListen    string
	MCPHosts     []string // names by which hosts may know this machine
	MCPOrigins   []string // web pages that may connect
	MCPTokens    []tokenConfig
	Auth         string
	IdleTimeout  time.Duration
	IdleShutdown time.Duration
	MaxSessions  int // of one client
	TLS          struct{ Cert, Key string }
	OAuth        struct{ Issuer, Audience, JWKS, Scope string }
}

// tokenConfig is the Bearer token of one client, in a file.
type tokenConfig struct {
	Name   string
	File   string
	Tenant string // the tenant that it is for; "" for none
}

// serveSettings are the settings of callgate serve.
var serveSettings = []setting{
	{"mcpListen", "mcp-listen", "`address` for hosts; port 0 picks one", endpoint.DefaultAddress},
	{"auth", "auth", "who may connect: token (Bearer, from {dataDir}/credentials), oauth, or none (this machine only)", "token"},
	{"mcpHosts", "mcp-host", "another `name` that hosts use for this machine; behind a load balancer, name:port; repeatable", []string{}},
	{"mcpOrigins", "mcp-origin", "`origin` of a web page that may connect, as https://example.com; repeatable", []string{}},
	{"oauth.issuer", "oauth-issuer", "`URL` of the authorization server", ""},
	{"oauth.audience", "oauth-audience", "`URL` of this callgate, which tokens must name as audience", ""},
	{"oauth.jwks", "oauth-jwks", "`URL` of the issuer's keys (default: from its metadata)", ""},
	{"oauth.scope", "oauth-scope", "`scope` that tokens must have", ""},
	{"idleTimeout", "idle-timeout", "end a session and its servers after this long without use", 30 * time.Minute},
	{"idleShutdown", "idle-shutdown", "end callgate after this long without a session; 0s: never", time.Duration(0)},
	{"maxSessions", "max-sessions", "most `sessions` of one client (one token)", 2000},
}

// idleSeconds is a variable that several gateways use for idleTimeout.
const idleSeconds = "CALLGATE_IDLE_TIMEOUT_SECONDS"

// readIdleSeconds uses the number in idleSeconds, unless a flag or variable sets idleTimeout.
func (s *Settings) readIdleSeconds() error {
	text := os.Getenv(idleSeconds)
	if text == "" || s.Serve.Changed("idle-timeout") || os.Getenv(Variable("idle-timeout")) != "" {
		return nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n <= 0 {
		return fmt.Errorf("%s: %q: use a positive number of seconds", idleSeconds, text)
	}
	s.viper.Set("idleTimeout", time.Duration(n)*time.Second)
	return nil
}

// validate checks every value. The error begins with the key.
func (c *ServeConfig) validate() error {
	switch c.Auth {
	case "token", "none":
	case "oauth":
		if c.OAuth.Issuer == "" || c.OAuth.Audience == "" {
			return errors.New("auth: oauth needs oauth.issuer and oauth.audience")
		}
	default:
		return fmt.Errorf("auth: %q: use token, oauth or none", c.Auth)
	}
	if (c.TLS.Cert == "") != (c.TLS.Key == "") {
		return errors.New("tls: a certificate needs its key: give tls.cert and tls.key")
	}
	if c.IdleTimeout <= 0 {
		return fmt.Errorf("idleTimeout: %s: use a positive duration such as 30m", c.IdleTimeout)
	}
	if c.IdleShutdown < 0 {
		return fmt.Errorf("idleShutdown: %s: use a positive duration such as 2h, or 0s for never", c.IdleShutdown)
	}
	if c.MaxSessions < 1 || c.MaxSessions > endpoint.MaxSessions {
		return fmt.Errorf("maxSessions: %d: use a number from 1 to %d", c.MaxSessions, endpoint.MaxSessions)
	}
	for _, origin := range c.MCPOrigins {
		if u, err := url.Parse(origin); err != nil || u.Host == "" || u.Scheme+"://"+u.Host != origin {
			return fmt.Errorf("mcpOrigins: %q: use scheme and host alone, as https://example.com", origin)
		}
	}
	for _, host := range c.MCPHosts {
		name, port, err := net.SplitHostPort(host)
		if err != nil {
			name = host
		} else if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return fmt.Errorf("mcpHosts: %q: the port is a number", host)
		}
		if err := hostName(name); err != nil {
			return fmt.Errorf("mcpHosts: %w", err)
		}
	}
	return c.validateTokens()
}

// CheckServe returns an error for obvious mistakes when serving begins. Later they are no reason to keep old settings.
func (c *Config) CheckServe() error {
	k := &c.Cluster
	if !k.On() && (k.Key != "" || k.KeyVariable != "" || len(k.KeyCommand) > 0 || k.Name != "" || len(k.Peers) > 0 || k.Creds != "") {
		return errors.New("cluster.url: the other keys of the cluster are set, and this callgate would not join it: add --cluster embedded, or the URL of your NATS")
	}
	for i, t := range c.MCPTokens {
		if t.Tenant == "" {
			continue
		}
		if _, err := c.Tenants.Choose([]string{t.Tenant}, "", false); err != nil {
			return fmt.Errorf("mcpTokens[%d]: tenant: %w", i, err)
		}
	}
	return nil
}

// MisspelledVariables warns of variables that begin with CALLGATE_ and nearly match a setting. It only guesses:
// Kubernetes sets such names too. It leaves out variables that the configuration mentions.
func (c *Config) MisspelledVariables(environ []string) (said []string) {
	const ours = "CALLGATE_"
	known := []string{"CONFIG", strings.TrimPrefix(idleSeconds, ours)}
	for _, one := range allSettings() {
		known = append(known, strings.TrimPrefix(Variable(one.flag), ours))
	}
	for _, pair := range environ {
		variable, _, _ := strings.Cut(pair, "=")
		name, ok := strings.CutPrefix(variable, ours)
		if !ok || slices.Contains(known, name) {
			continue
		}
		if near := spelling.Nearest(name, known); near != "" && !speaksOf(c, variable) {
			said = append(said, fmt.Sprintf("the variable %s is none that callgate reads: did you mean %s?", variable, ours+near))
		}
	}
	return said
}

// ourVariable matches a callgate variable in any case, because viper has keys in lower case.
var ourVariable = lazyregexp.New(`(?i)callgate_[a-z0-9_]+`)

// speaksOf reports whether a variable is named in what was read, or in a file of servers.
func speaksOf(c *Config, variable string) bool {
	is := func(name string) bool { return strings.EqualFold(name, variable) }
	return slices.ContainsFunc(c.speaks, is) || slices.ContainsFunc(c.MCPConfig, func(path string) bool {
		text, err := os.ReadFile(ExpandHome(path))
		return err == nil && slices.ContainsFunc(ourVariable.FindAllString(string(text), -1), is)
	})
}

func (c *ServeConfig) validateTokens() error {
	names := []string{string(credentials.MCP), proxy.StdioPrincipal, proxy.AnyPrincipal}
	for i, t := range c.MCPTokens {
		switch {
		case !plainName.MatchString(t.Name):
			return fmt.Errorf("mcpTokens[%d]: name %q: use letters, digits, dots, - and _, at most 64", i, t.Name)
		case slices.Contains(names, t.Name):
			return fmt.Errorf("mcpTokens[%d]: the name %q is taken", i, t.Name)
		case t.Tenant != "" && tenants.CheckName(t.Tenant) != nil:
			return fmt.Errorf("mcpTokens[%d]: tenant: %w", i, tenants.CheckName(t.Tenant))
		case t.File == "":
			return fmt.Errorf("mcpTokens[%d]: %q needs a file with the token", i, t.Name)
		}
		names = append(names, t.Name)
	}
	return nil
}

// Door returns what lets hosts in.
func (c *Config) Door(ctx context.Context, log *slog.Logger) (endpoint.Door, error) {
	switch c.Auth {
	case "none":
		log.Warn("hosts need no credential: every program on this machine can call tools through this gate")
		return endpoint.Anyone{}, nil
	case "oauth":
		claim := ""
		if c.Tenants.On() {
			claim = c.Tenants.Claim
		}
		return endpoint.NewOAuth(ctx, endpoint.OAuthConfig{Tenants: claim, Issuer: c.OAuth.Issuer, Audience: c.OAuth.Audience, JWKS: c.OAuth.JWKS, Scope: c.OAuth.Scope})
	}
	held, err := credentials.Open(c.DataDir)
	if err != nil {
		return nil, err
	}
	own := func() (string, error) { return held.Token(credentials.MCP) }
	tokens := []endpoint.Token{{Name: endpoint.Principal(credentials.MCP), Secret: complaining(own, string(credentials.MCP), log)}}
	for _, t := range c.MCPTokens {
		file, err := filepath.Abs(ExpandHome(t.File))
		if err != nil {
			return nil, err
		}
		secret := func() (string, error) { return readToken(file) }
		tokens = append(tokens, endpoint.Token{Name: endpoint.Principal(t.Name), Secret: complaining(secret, t.Name, log), Tenant: t.Tenant})
	}
	return endpoint.NewTokens(tokens...), nil
}

// TokenFaults returns the mcpTokens that cannot be used, with the reasons.
func (c *ServeConfig) TokenFaults() iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		if c.Auth != "token" {
			return
		}
		for _, t := range c.MCPTokens {
			if _, err := readToken(ExpandHome(t.File)); err != nil && !yield(t.Name, err) {
				return
			}
		}
	}
}

// complaining reads a secret, and logs an error when it can no longer be read.
func complaining(read func() (string, error), name string, log *slog.Logger) func() (string, error) {
	failed := false
	return func() (string, error) { // not safe for concurrent use
		secret, err := read()
		if err != nil && !failed {
			log.Error("a token cannot be read: its client cannot connect", "token", name, "error", err)
		}
		failed = err != nil
		return secret, err
	}
}

// shortestToken is the least number of characters in a token. Shorter ones could be guessed.
const shortestToken = 24

func readToken(path string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	token := strings.TrimSpace(string(text))
	if len(token) < shortestToken {
		return "", fmt.Errorf("%s: a token must have at least %d characters", path, shortestToken)
	}
	return token, nil
}

// hostName returns an error if host is more than a name, or stands for several names.
func hostName(host string) error {
	if host == "" || strings.ContainsAny(host, "/: *") {
		return fmt.Errorf("%q: use a name without scheme and port", host)
	}
	return nil
}

// Certificate reads the TLS files. It returns nil if none are configured.
func (c *ServeConfig) Certificate() (*tls.Certificate, error) {
	if c.TLS.Cert == "" {
		return nil, nil
	}
	pair, err := tls.LoadX509KeyPair(ExpandHome(c.TLS.Cert), ExpandHome(c.TLS.Key))
	if err != nil {
		return nil, fmt.Errorf("tls: %w", err)
	}
	return &pair, nil
}
