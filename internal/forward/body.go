// Package forward helps to pass HTTP requests on.
package forward

import "io"

// Body returns a body for a request that an httputil.ReverseProxy passes on. The returned body is not read again after
// its end. Otherwise the http.Transport would do so, perhaps after the answer has begun, to check for more data than
// announced. By then the http.Server has closed the body. The Transport takes that for a failure, and the answer breaks
// off.
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
