package tui

// The screen has, from top to bottom: a header, the body, a box (a dialog, or the question about the current approval),
// toasts, and a footer. A smaller window has no room for a decision, so none can be made in it.
const (
	minWidth  = 32
	minHeight = 12
	wideAt    = 100 // columns; from this width on the list is beside the approval
)

// layoutKey identifies what the detail pane shows.
type layoutKey struct {
	approval *approval
	width    int
}

// areas holds the sizes of the parts of the screen.
type areas struct {
	box      []string // the drawn lines
	toasts   int      // rows
	body     int      // rows
	list     int      // columns if wide, otherwise rows
	detail   int      // rows
	detailAt int      // columns of the detail pane
}

func (m view) tooSmall() bool { return m.model.width < minWidth || m.model.height < minHeight }

func (m view) wide() bool { return m.model.width >= wideAt }

// areas divides the screen. Callers MUST check first that the window is not too small.
func (m view) areas() (a areas) {
	a.toasts = m.toastRows()
	room := m.model.height - 2 - a.toasts
	a.box = m.box(room)
	a.body = room - len(a.box)
	a.detailAt, a.detail = m.model.width, a.body
	switch {
	case m.wide():
		a.list = min(m.model.width*35/100, 56)
		a.detailAt = m.model.width - a.list - 3
	case m.model.queue.len() > 1:
		a.list = min(m.model.queue.len()+len(m.model.queue.groups), max(2, a.body/4))
		a.detail = max(0, a.body-a.list-1)
	}
	return a
}

// box draws the dialog, or else the question about the current approval, in at most room rows.
func (m view) box(room int) []string {
	keep := 3 // rows of the body that stay visible
	if room < 14 {
		keep = 0
	}
	rows := room - keep - 2
	var b boxed
	switch {
	case m.model.dialog != nil:
		b = m.model.dialog.content(m.model, m.model.width-4, rows)
	case m.model.screen == approvals && m.model.current != nil:
		b = m.question(m.model.current)
	default:
		return nil
	}
	return m.model.styles.box(b.title, b.note, b.window(rows), m.model.width, b.edge)
}

// layout fills the panes after an Update, and records whether the person has seen all arguments.
func (m *model) layout() {
	if (view{m}).tooSmall() {
		return
	}
	a := view{m}.areas()
	if m.current != nil {
		if key := (layoutKey{m.current, a.detailAt}); key != m.laidOut {
			if key.approval != m.laidOut.approval {
				m.detail.top = 0
			}
			lines, end := m.styles.detail(m.current, a.detailAt)
			m.detail.lines = lines
			m.laidOut, m.argsEnd = key, end
		}
		m.detail.resize(a.detail)
		if m.screen == approvals && m.unread() == 0 {
			m.current.read = true
		}
	} else {
		m.laidOut = layoutKey{}
	}
	if m.screen != trail {
		return
	}
	m.trailView.lines = view{m}.trailLines(m.width)
	m.trailView.resize(a.body)
	if m.follow {
		m.trailView.move(len(m.trailView.lines))
	}
}

// unread returns how many lines of the current approval's arguments are below the visible part.
func (m *model) unread() int {
	if m.detail.height == 0 {
		return m.argsEnd
	}
	return max(0, m.argsEnd-m.detail.top-m.detail.height)
}
