package hub

import (
	"io"
	"log/slog"
	"net"
	"net/http"
	"testing"
)

// TestAnswersAreSentAtTheEnd closes a door during a request, whose response still arrives whole.
func TestAnswersAreSentAtTheEnd(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	asked := make(chan struct{})
	h := &Hub{ctx: t.Context(), o: Options{Log: slog.New(slog.DiscardHandler), Door: func(*Door) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			close(asked)
			<-r.Context().Done()
			_, _ = io.WriteString(w, "applied") // the client notices a failure
		})
	}}}
	door := h.serveDoor(listener, false, nil)
	got := make(chan string, 1)
	go func() {
		response, err := http.Get("http://" + door.Address)
		if err != nil {
			got <- err.Error()
			return
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		if err != nil {
			text = []byte(err.Error())
		}
		got <- string(text)
	}()
	<-asked
	if err := door.close(); err != nil {
		t.Error(err)
	}
	if text := <-got; text != "applied" {
		t.Errorf("the answer is %q", text)
	}
}
