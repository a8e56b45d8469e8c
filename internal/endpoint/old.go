package endpoint

import (
	"net/http"
	"net/url"

	"callgate/internal/rpc"
)

// openOld begins a session of the transport of 2024-11-05: one GET whose event stream carries everything to
// the host, and a POST for each message from it. The session ends with the GET.
func (s *Server) openOld(v visit) {
	session, err := s.open(v)
	if err == nil {
		session.single = true
		if err = s.register(session); err != nil {
			session.close()
		}
	}
	if err != nil {
		refuse(v.w, statusOf(err), nil, codeOf(err), err.Error())
		return
	}
	done := session.use()
	out := beginListening(v)
	if out.write("endpoint", "", []byte("/messages?sessionId="+url.QueryEscape(session.id))) != nil {
		done()
		s.drop(session)
		return
	}
	s.listen(v, out, listener{of: session.standalone, from: 1, name: "message", done: func() { done(); s.drop(session) }})
}

// postOld takes one message of a host of that transport. What comes of it goes to the GET.
func (s *Server) postOld(v visit) {
	m, err := s.read(v)
	if err != nil {
		refuse(v.w, statusOf(err), nil, codeOf(err), err.Error())
		return
	}
	session := s.findOld(v)
	if session == nil {
		refuse(v.w, http.StatusNotFound, m.ID, codeNoSession, "session not found: open /sse again")
		return
	}
	if m.IsRequest() {
		if _, err := session.begin(m.ID, false); err != nil {
			refuse(v.w, http.StatusBadRequest, m.ID, rpc.CodeInvalidRequest, err.Error())
			return
		}
	}
	if !m.IsResponse() || !session.asked.Answer(m) {
		session.peer.Handle(m)
	}
	v.w.WriteHeader(http.StatusAccepted)
}

// findOld returns the session that the address names, if it is of that transport and of this visitor.
func (s *Server) findOld(v visit) *Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	if session := s.sessions[v.r.URL.Query().Get("sessionId")]; session != nil && session.single && session.who == v.who {
		return session
	}
	return nil
}
