package endpoint

import (
	"net/http"
	"net/url"
)

// openOld begins a session of the 2024-11-05 transport: one GET whose event stream carries everything to the host, and
// a POST for each message from it. The session ends with the GET.
func (s *Server) openOld(v visit) {
	session, err := s.begin(v)
	if err == nil {
		session.single = true
		s.open.follow(v.held, session.lasts)
		if err = s.open.register(session, v.held); err != nil {
			session.close()
		}
	}
	if err != nil {
		s.turnAway(v, nil, err)
		return
	}
	done := session.use()
	out := beginListening(v)
	if out.write("endpoint", "", []byte(v.under("/messages")+"?sessionId="+url.QueryEscape(session.id))) != nil {
		done()
		s.open.drop(session)
		return
	}
	s.listen(v, out, listener{of: session.standalone, from: 1, name: "message", done: func() { done(); s.open.drop(session) }})
}

// postOld takes one message from a host of that transport. Its outcome goes to the GET.
func (s *Server) postOld(v visit) {
	m, err := s.read(v)
	if err != nil {
		refuse(v.w, statusOf(err), nil, codeOf(err), err.Error())
		return
	}
	session := s.open.findOld(v)
	if session == nil {
		refuse(v.w, http.StatusNotFound, m.ID, codeNoSession, "session not found: open /sse again")
		return
	}
	if m.IsRequest() {
		end, ok := s.admit(v, m)
		if !ok {
			return
		}
		if _, err := session.begin(m.ID, false, end); err != nil {
			refuse(v.w, statusOf(err), m.ID, codeOf(err), err.Error())
			return
		}
	}
	if !m.IsResponse() || !session.asked.Answer(m) {
		session.peer.Handle(m)
	}
	v.w.WriteHeader(http.StatusAccepted)
}
