package upstream

import "callgate/internal/rpc"

// Events is told what happens on the server's side. Every function may be nil. All except StateChanged and ListChanged
// are called on the goroutine that reads from the server, in the order of arrival. They MUST NOT block and MUST NOT
// wait for the server. None may call Close. StateChanged MUST NOT call Start, Ready or anything else that waits for the
// server. Reply and Notify are always allowed.
type Events struct {
	// Notification gets every notification except list_changed, which goes to ListChanged. cause is that of our request
	// (lifetime.CauseOf) that the notification belongs to. It is nil if unknown, which is always so for notifications
	// of processes.
	Notification func(u *Upstream, m rpc.Message, cause any)

	// Request gets the server's requests except ping. The message has an id from callgate, unique in this process, so
	// that an answer can only reach its question; the rest is as it came. The answer goes back through Reply; cause is
	// as above. Questions that a modern server asks during a request come here too, on the goroutine of that request.
	// If Request is nil, requests are answered with "method not found".
	Request func(u *Upstream, m rpc.Message, cause any)

	// StateChanged reports the upstream's new state. Changes arrive in order.
	StateChanged func(u *Upstream, s State)

	// ListChanged reports that Lists.Known(k) returns other items than before, or that Lists.Error(k) has an error.
	ListChanged func(u *Upstream, k Kind)
}
