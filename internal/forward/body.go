// Package forward passes HTTP requests on.
package forward

import "io"

// Body is the body of a request that a httputil.ReverseProxy passes on. It is not read again after its end: the
// http.Transport would do so to learn whether there is more than was announced, perhaps after the answer has begun. The
// http.Server has closed the body then, the Transport takes that for a failure, and the answer breaks off.
func Body(of io.ReadCloser) io.ReadCloser {
	if of == nil {
		return nil
	}
	return &body{ReadCloser: of}
}

type body struct {
	io.ReadCloser
	ended error
}

func (b *body) Read(p []byte) (n int, err error) {
	if b.ended == nil {
		n, b.ended = b.ReadCloser.Read(p)
	}
	return n, b.ended
}
