package proxy

// shadow hides tools that look to the host like one of callgate's own: where names are untouched, a server
// could take the place of a tool that people and models trust.
func (h *host) shadow(items []listing) {
	own := map[string]bool{}
	for _, item := range items {
		if item.server.own {
			own[item.shown] = true
		}
	}
	for i := range items {
		if item := &items[i]; own[item.shown] && !item.server.own {
			item.hidden = true
			h.log.Warn("a tool of the server is hidden: one of callgate's own has its name", "server", item.server.alias, "tool", item.shown)
		}
	}
}
