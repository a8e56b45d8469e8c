package tui

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	"callgate/internal/companion/wire"
)

// approver is the part of *client.Client that the model needs.
type approver interface {
	Answer(wire.ToolApprove) error
	SetAutonomy(sessionID, level string) error
	Cancel(sessionID string) error
	Chat(wire.Chat) error
	ResetChat(sessionID string) error
}

// screen is one of the screens.
type screen int

const (
	approvals screen = iota
	sessions
	trail
	toolbox
)

var screenNames = [...]string{approvals: "Approvals", sessions: "Sessions", trail: "Audit", toolbox: "Tools"}

// model is the state of the terminal. Only Update changes it.
type model struct {
	styles  styles
	client  approver
	events  <-chan wire.Event
	rest    asker // may be nil
	ctx     context.Context
	once    bool
	bell    bool
	outcome wire.Outcome // what Run returns
	err     error        // what Run returns

	now           time.Time
	width, height int
	screen        screen
	dialog        dialog // takes all keys, unless it is nil
	toasts        []toast
	quiet         quiet

	address     string // of the companion; "" while disconnected
	partial     bool   // some processes' calls are missing
	connections int    // number of connections so far
	queue       queue
	current     *approval // the approval that keys act on; nil if nothing waits
	choice      int       // index in choices; 0 denies
	roster      roster
	servers     []server
	serversErr  string
	askedAt     time.Time // when the servers' state was last asked for
	log         auditTail
	offered     offered
	unrecorded  []ownCommand    // ended, but their outcome is not on record
	talks       map[string]said // conversations with models, by session

	detail    pane
	laidOut   layoutKey
	argsEnd   int // number of lines in detail up to the end of the arguments
	trailView pane
	follow    bool // the audit view stays at its newest line
}

func newModel(client approver, once, bell bool) *model {
	return &model{
		styles: newStyles(), client: client, once: once, bell: bell, now: time.Now(), ctx: context.Background(), follow: true,
		roster: newRoster(), talks: map[string]said{},
	}
}

// The model's own messages.
type (
	tickMsg   struct{}
	wakeMsg   struct{} // the keyboard may have rested
	closedMsg struct{} // no more events will come
	statusMsg struct {
		address string
		status
	}
	// sentMsg says whether a frame was written. Whether the answer took effect comes as an event.
	sentMsg struct {
		call string // the approval that was answered, or ""
		err  error
		done string // what to say if there is no error, or ""
	}
)

// statusEvery is how often the screen asks for the state of servers.
const statusEvery = 10 * time.Second

func (m *model) Init() tea.Cmd { return tea.Batch(m.listen(), tick()) }

func tick() tea.Cmd { return tea.Tick(time.Second, func(time.Time) tea.Msg { return tickMsg{} }) }

// listen waits for the next event.
func (m *model) listen() tea.Cmd {
	return func() tea.Msg {
		if e, ok := <-m.events; ok {
			return e
		}
		return closedMsg{}
	}
}

// Update implements tea.Model.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	m.now = time.Now()
	cmd := m.take(msg)
	m.layout()
	if m.quiet.silent(m.now) && !m.quiet.waking { // redraw when keys count again, since the question says so
		m.quiet.waking = true
		cmd = tea.Batch(cmd, tea.Tick(quietTime, func(time.Time) tea.Msg { return wakeMsg{} }))
	}
	return m, cmd
}

func (m *model) take(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case tea.KeyPressMsg:
		return m.key(msg)
	case tea.PasteMsg:
		if d, ok := m.dialog.(paster); ok && !m.quiet.swallows(m.now) {
			d.paste(msg)
		}
	case tea.ResumeMsg:
		m.quiet.arm(m.now)
	case wire.Event:
		return tea.Batch(listener{m}.event(msg), m.listen())
	case closedMsg:
		return tea.Quit
	case tickMsg:
		m.dropToasts()
		if m.now.Sub(m.askedAt) >= statusEvery {
			return tea.Batch(tick(), m.refresh(false))
		}
		return tick()
	case wakeMsg:
		m.quiet.waking = false
	case statusMsg:
		m.takeStatus(msg)
	case sentMsg:
		m.takeSent(msg)
	case ownMsg:
		return m.takeOwn(msg)
	case ownEndedMsg:
		m.quiet.arm(m.now)
		return m.recordOwn(msg.of)
	case editedMsg:
		m.takeEdited(msg)
	case changesMsg:
		m.takeChanges(msg)
	case toolsMsg:
		toolScreen{m}.takeTools(msg)
	case acceptedMsg:
		return toolScreen{m}.takeAccepted(msg)
	}
	return nil
}

// refresh asks over REST for what frames do not contain, with earlier records if history is set.
func (m *model) refresh(history bool) tea.Cmd {
	if m.rest == nil || m.address == "" {
		return nil
	}
	m.askedAt = m.now
	ctx, address, ask := m.ctx, m.address, m.rest
	return func() tea.Msg { return statusMsg{address, ask.status(ctx, address, history)} }
}

func (m *model) takeStatus(msg statusMsg) {
	if msg.address != m.address {
		return // from an earlier connection
	}
	if m.serversErr = ""; msg.err != nil {
		m.serversErr = msg.err.Error()
		return
	}
	m.servers = msg.servers
	m.log.merge(msg.records)
}

// send writes a frame in the background, because the connection may be slow.
func (m *model) send(call string, write func() error) tea.Cmd {
	return func() tea.Msg { return sentMsg{call: call, err: write()} }
}

func (m *model) takeSent(msg sentMsg) {
	if msg.err == nil {
		if msg.done != "" {
			m.toast(toastGood, "%s", msg.done)
		}
		return
	}
	if a := m.queue.find(msg.call); a != nil {
		a.sent = ""
	}
	m.toast(toastBad, "%s", notSent(msg.err))
}
