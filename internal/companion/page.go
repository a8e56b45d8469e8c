package companion

import (
	_ "embed"
	"net/http"
)

//go:embed page/index.html
var page []byte

func (s *Server) handlePage(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(page) // a client that is gone gets nothing
}
