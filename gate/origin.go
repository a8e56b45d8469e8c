package gate

// Origin is where a session's host works, as far as callgate can tell. People tell windows of the same host apart by
// it; it is shown, and trusted for nothing but which sessions hear a prompt.
type Origin struct {
	Folder   string `json:"folder,omitempty"`   // of the project
	Branch   string `json:"branch,omitempty"`   // that is checked out there when the session begins or its folder changes
	Terminal string `json:"terminal,omitempty"` // or the program whose window it is: "iTerm.app", "tmux %3", "/dev/pts/4"
}

// SetOrigin notes where the host works.
func (s *Session) SetOrigin(o Origin) {
	if before := s.origin.Swap(&o); *before == o {
		return
	}
	s.retold()
}

// Origin is where the host works; nothing for a session that was not opened here.
func (s *Session) Origin() Origin {
	if o := s.origin.Load(); o != nil {
		return *o
	}
	return Origin{}
}
