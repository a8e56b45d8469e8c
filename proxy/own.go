package proxy

// shadow hides tools that look to the host like one of callgate's own, or like one that the configuration
// renamed: where names are untouched, a server could take the place of a tool that people and models trust.
func (h *host) shadow(items []listing) {
	given := map[string]bool{}
	for _, item := range items {
		if item.given() {
			given[item.shown] = true
		}
	}
	for i := range items {
		if item := &items[i]; given[item.shown] && !item.given() {
			item.hidden = true
			h.log.Warn("a tool of the server is hidden: one of callgate's own, or one that was renamed, has its name", "server", item.server.alias, "tool", item.shown)
		}
	}
}

// given reports whether the tool's name is not its server's choice.
func (l *listing) given() bool { return l.server.own || l.server.choice.name(l.name) != l.name }
