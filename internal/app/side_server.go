package app

import (
	"net"
	"sync/atomic"

	"github.com/adrg/xdg"

	"callgate/gate"
	"callgate/internal/companion"
	"callgate/internal/companion/hub"
	"callgate/internal/config"
	"callgate/internal/presence"
)

// sideServer is the server for people. It holds no companion until that listens, and never one if it is off.
type sideServer struct {
	atomic.Pointer[companion.Server]
	ports    []string
	presence *presence.Desk
}

// opened notes the companion once it listens.
func (s *sideServer) opened(people *companion.Server) error {
	s.Store(people)
	_, port, err := net.SplitHostPort(people.Address())
	if err == nil {
		s.ports = []string{port}
	}
	return err
}

// page returns the address of the page for approvers, or "" while there is none.
func (s *sideServer) page() string {
	people := s.Load()
	if people == nil {
		return ""
	}
	address := people.Address()
	if _, port, err := net.SplitHostPort(address); err == nil && s.presence.On() {
		address = net.JoinHostPort("localhost", port) // browsers allow no passkeys on IP addresses
	}
	return "http://" + address + "/"
}

// protected returns what no call may touch under a configuration.
func (s *sideServer) protected(c *config.Config) (*gate.Protected, error) {
	protected, err := gate.NewProtected(c.OwnFiles(), xdg.Home, s.ports)
	if err != nil {
		return nil, err
	}
	return protected.WithNames(hub.SocketName).WithPorts(c.OwnPorts()), nil
}
