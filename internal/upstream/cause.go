package upstream

import "context"

type causeKey struct{}

// Because returns a context with which a request is sent for the sake of cause: Events get it with what the server
// says about that request, where it can be told.
func Because(ctx context.Context, cause any) context.Context {
	return context.WithValue(ctx, causeKey{}, cause)
}

func causeOf(ctx context.Context) any { return ctx.Value(causeKey{}) }

// cause returns what the request with that id was sent for.
func (in *incarnation) cause(id []byte) any {
	if id == nil {
		return nil
	}
	cause, _ := in.causes.Load(string(id))
	return cause
}
