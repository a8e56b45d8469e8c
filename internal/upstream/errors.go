package upstream

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// DownError says that a server is not running, or stopped running before it answered.
type DownError struct {
	Server  string
	Reason  string    // a clause: "exit status 1", "cannot start: …"
	Stderr  []string  // the last lines the server wrote there, control characters removed
	RetryAt time.Time // when a use may start it again; zero when none will
	Err     error     // what is beneath, may be nil
}

func (e *DownError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "server %q is down: %s", e.Server, e.Reason)
	if wait := time.Until(e.RetryAt); wait > 0 {
		fmt.Fprintf(&b, " (it may be tried again in %v)", wait.Round(10*time.Millisecond))
	}
	return b.String()
}

func (e *DownError) Unwrap() error { return e.Err }

// downError words err, with which an attempt ended. in is nil when nothing was started.
func (u *Upstream) downError(err error, in *incarnation) *DownError {
	if u.ctx.Err() != nil {
		return u.closedError()
	}
	down := &DownError{Server: u.cfg.Name, Reason: err.Error(), Err: err}
	if isAuth(err) && u.cfg.Authorize != nil {
		down.Reason += fmt.Sprintf(": sign in with \"callgate login %s\"", u.cfg.Name)
	} else if isAuth(err) {
		down.Reason += ": it does not take the Authorization header of the configuration"
	}
	if in != nil {
		down.Stderr = in.link.lastWords()
	}
	return down
}

func (u *Upstream) closedError() *DownError {
	return &DownError{Server: u.cfg.Name, Reason: "closed", Err: context.Canceled}
}
