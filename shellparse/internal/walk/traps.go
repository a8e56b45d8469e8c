package walk

// traps describes the traps that the text has set so far.
type traps struct {
	many    int
	move    bool            // one of them changes the directory
	calls   map[string]bool // the names that they call
	walking bool            // the text that is walked now is one of a trap
}

// RunTrap does what RunText does, for a text that the shell may run between any two commands after it. It reports
// whether the text changes the directory.
func (a *Walker) RunTrap(inner *Call, text string) bool {
	t := &a.traps
	if t.calls == nil {
		t.calls = map[string]bool{}
	}
	outer := t.walking
	t.walking = true
	defer func() { t.walking = outer }()
	moves := !a.RunText(inner, text).SamePlace(inner.Sc)
	if t.many++; t.move || moves {
		if t.move = true; t.many > 1 {
			a.Found.Problem("dynamic", "A trap changes the directory in which another runs.")
		}
	}
	return moves
}
