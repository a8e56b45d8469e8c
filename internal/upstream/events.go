package upstream

import "callgate/internal/rpc"

// Events are told what happens on the server's side. Every function may be nil. All but StateChanged and
// ListChanged are called on the goroutine that reads from the server, in the order of arrival: they MUST
// NOT block and MUST NOT wait for the server. None may call Close, and StateChanged MUST NOT call Start,
// Ready or anything else that waits for the server. Reply and Notify are fine everywhere.
type Events struct {
	// Notification gets every notification but list_changed, which ListChanged stands for. cause is what Because
	// said of the request of ours that it belongs to; nil where that is not known, which is always so for
	// notifications of processes.
	Notification func(u *Upstream, m rpc.Message, cause any)

	// Request gets the server's requests but ping. The message has an id of callgate's own, unique in this
	// process, so that an answer can only reach the question it was given to; the rest is as it came. The
	// answer goes back through Reply, and cause is as above. Questions that a modern server asks in the middle of
	// a request come here too, on the goroutine of that request. When nil, requests are answered with "method not found".
	Request func(u *Upstream, m rpc.Message, cause any)

	// StateChanged tells where the upstream is now; changes arrive in order.
	StateChanged func(u *Upstream, s State)

	// ListChanged tells that List(k) returns other items than before, or that ListError(k) has something to say.
	ListChanged func(u *Upstream, k Kind)
}
