package config

import (
	"errors"
	"fmt"
	"net"

	companionclient "callgate/internal/companion/client"
	"callgate/internal/companion/hub"
	"callgate/internal/presence"
)

// listenSettings are the settings of every subcommand that lets approvers in.
var listenSettings = []setting{
	{"listen", "listen", "`address` for approvers (page, terminal, REST); port 0 picks a port, off: none", companionclient.DefaultAddress},
	{"listenRemote", "listen-remote", "`address` for approvers on other machines, over TLS; empty: none", ""},
	{"listenHosts", "listen-host", "`name` or address of this machine for approvers on other machines, without port; repeatable", []string{}},
	{"tls.cert", "tls-cert", "`file` with the certificate chain; required for addresses that other machines can reach", ""},
	{"tls.key", "tls-key", "`file` with the certificate's key", ""},
}

// RemoteDoor returns where approvers on other machines connect, or nil if they cannot.
func (c *Config) RemoteDoor() (*hub.Remote, error) {
	if c.ListenRemote == "" {
		return nil, nil
	}
	certificate, err := c.Certificate()
	if err != nil {
		return nil, err
	}
	return &hub.Remote{Address: c.ListenRemote, Hosts: c.ListenHosts, Certificate: certificate}, nil
}

// validateListen checks that other machines connect over TLS and by a name.
func (c *Config) validateListen() error {
	if _, _, err := net.SplitHostPort(c.Listen); err != nil && c.Listen != "" && c.Listen != "off" {
		return fmt.Errorf("listen: %q: use an address with a port, such as %s, or off", c.Listen, companionclient.DefaultAddress)
	}
	if c.Listen == "off" && c.Presence != presence.None {
		return errors.New("approvers.presence: listen is off, so there is no page where anybody could use a passkey")
	}
	if c.ListenRemote == "" {
		if len(c.ListenHosts) > 0 {
			return errors.New("listenHosts: these are names for other machines, but without listenRemote none can connect")
		}
		return nil
	}
	host, port, err := net.SplitHostPort(c.ListenRemote)
	switch {
	case err != nil:
		return fmt.Errorf("listenRemote: %w", err)
	case c.Listen == "off":
		return errors.New("listenRemote: listen is off, so this callgate takes no part")
	case c.TLS.Cert == "":
		return errors.New("listenRemote: other machines can connect only over TLS: give tls.cert and tls.key")
	case port == "0":
		return errors.New("listenRemote: port 0 changes at every start: choose a port")
	}
	if ip := net.ParseIP(host); len(c.ListenHosts) == 0 && ip != nil && !ip.IsUnspecified() {
		c.ListenHosts = []string{host}
	}
	if len(c.ListenHosts) == 0 {
		return errors.New("listenRemote: name this machine as other machines know it, with listenHosts: requests for any other name are refused")
	}
	for _, name := range c.ListenHosts {
		if err := hostName(name); err != nil {
			return fmt.Errorf("listenHosts: %w", err)
		}
	}
	return nil
}
