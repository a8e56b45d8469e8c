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

// sideServer is where people come in. It has no companion before that listens, and none at all when it is off.
type sideServer struct {
	atomic.Pointer[companion.Server]
	ports    []string
	presence *presence.Desk
}

// opened notes the companion, which listens.
func (s *sideServer) opened(people *companion.Server) error {
	s.Store(people)
	_, port, err := net.SplitHostPort(people.Address())
	if err == nil {
		s.ports = []string{port}
	}
	return err
}

// page is the address of the page for approvers, "" while there is none.
func (s *sideServer) page() string {
	people := s.Load()
	if people == nil {
		return ""
	}
	address := people.Address()
	if _, port, err := net.SplitHostPort(address); err == nil && s.presence.On() {
		address = net.JoinHostPort("localhost", port) // browsers use no passkeys on addresses
	}
	return "http://" + address + "/"
}

// protected is what no call may touch with a configuration.
func (s *sideServer) protected(c *config.Config) (*gate.Protected, error) {
	protected, err := gate.NewProtected(c.OwnFiles(), xdg.Home, s.ports)
	if err != nil {
		return nil, err
	}
	return protected.WithNames(hub.SocketName).WithPorts(c.OwnPorts()), nil
}
