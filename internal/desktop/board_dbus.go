//go:build unix && !darwin

package desktop

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/godbus/dbus/v5"
)

// The notification service, as in version 1.2 of the freedesktop.org specification.
const (
	service   = "org.freedesktop.Notifications"
	object    = "/org/freedesktop/Notifications"
	critical  = byte(2)  // stays until it is answered
	untilGone = int32(0) // never expires
)

// labels maps actions to the labels of their buttons.
var labels = map[string]string{actionApprove: "Approve", actionDeny: "Deny", actionOpen: "Open"}

// dbusBoard shows notifications through the session bus.
type dbusBoard struct {
	bus     *dbus.Conn
	server  dbus.BusObject
	buttons bool // the service supports buttons
	markup  bool // the service reads the text as markup
	signals chan *dbus.Signal
	clicked chan click
	reading sync.WaitGroup
}

func openBoard() (board, error) {
	bus, err := dbus.ConnectSessionBus()
	if err != nil {
		return nil, fmt.Errorf("the session's bus: %w", err)
	}
	b := &dbusBoard{bus: bus, server: bus.Object(service, object), signals: make(chan *dbus.Signal, 16), clicked: make(chan click)}
	var can []string
	if err = b.server.Call(service+".GetCapabilities", 0).Store(&can); err == nil {
		err = bus.AddMatchSignal(dbus.WithMatchInterface(service), dbus.WithMatchObjectPath(object), dbus.WithMatchMember("ActionInvoked"))
	}
	if err != nil {
		_ = bus.Close() // the first error says more
		return nil, fmt.Errorf("the notification service: %w", err)
	}
	b.buttons, b.markup = slices.Contains(can, "actions"), slices.Contains(can, "body-markup")
	bus.Signal(b.signals)
	b.reading.Go(b.read)
	return b, nil
}

// read turns signals into clicks until the bus is closed.
func (b *dbusBoard) read() {
	defer close(b.clicked)
	for s := range b.signals {
		var c click
		if s.Name == service+".ActionInvoked" && dbus.Store(s.Body, &c.id, &c.action) == nil {
			select {
			case b.clicked <- c:
			case <-b.bus.Context().Done():
			}
		}
	}
}

func (b *dbusBoard) show(n notice) (id uint32, err error) {
	var actions []string
	if b.buttons {
		for _, a := range n.actions {
			actions = append(actions, a, labels[a])
		}
	}
	text := n.text
	if b.markup {
		text = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text)
	}
	hints := map[string]dbus.Variant{"urgency": dbus.MakeVariant(critical), "category": dbus.MakeVariant("im.received")}
	err = b.server.Call(service+".Notify", 0, "callgate", uint32(0), "dialog-question", n.title, text, actions, hints, untilGone).Store(&id)
	return id, err
}

func (b *dbusBoard) hide(id uint32) error {
	return b.server.Call(service+".CloseNotification", 0, id).Err
}

func (b *dbusBoard) clicks() <-chan click { return b.clicked }

func (b *dbusBoard) close() error {
	err := b.bus.Close()
	b.reading.Wait()
	return err
}
