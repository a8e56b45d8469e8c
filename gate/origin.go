package gate

// Origin is where a session's host works, as far as callgate can tell. It helps people to tell windows of a host apart.
// It is trusted for one thing only: which sessions hear a prompt.
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
