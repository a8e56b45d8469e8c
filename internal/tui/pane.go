package tui

// pane shows height of its lines, starting at line top.
type pane struct {
	lines       []string
	top, height int
}

// resize sets the height and keeps the pane within its lines.
func (p *pane) resize(height int) {
	p.height = max(0, height)
	p.move(0)
}

// move scrolls by a number of lines, at most to either end.
func (p *pane) move(lines int) { p.top = max(0, min(p.top+lines, len(p.lines)-p.height)) }

// inSight returns the visible lines.
func (p *pane) inSight() []string { return p.lines[p.top:min(len(p.lines), p.top+p.height)] }

// below returns how many lines lie below the pane.
func (p *pane) below() int { return max(0, len(p.lines)-p.top-p.height) }

// scroll handles a key that may scroll.
func (p *pane) scroll(key string) {
	switch key {
	case "pgdown", "space", "f":
		p.move(max(1, p.height-1)) // one line stays visible
	case "pgup", "b":
		p.move(-max(1, p.height-1))
	case "ctrl+d":
		p.move(max(1, p.height/2))
	case "ctrl+u":
		p.move(-max(1, p.height/2))
	case "down", "j", "J", "shift+down", "ctrl+n":
		p.move(1)
	case "up", "k", "K", "shift+up", "ctrl+p":
		p.move(-1)
	case "home", "g":
		p.top = 0
	case "end", "G":
		p.move(len(p.lines))
	}
}
