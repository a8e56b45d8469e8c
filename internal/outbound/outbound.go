// Package outbound holds what callgate's clients of other services have in common.
package outbound

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"callgate/internal/durable"
	"callgate/internal/loopback"
)

// NoRedirects is the CheckRedirect of a client that follows no redirects, because its requests are meant for one place.
func NoRedirects(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// WithoutAddress returns a client's error without the address, which may hold secrets.
func WithoutAddress(err error) error {
	if of, ok := errors.AsType[*url.Error](err); ok {
		return of.Err
	}
	return err
}

// Roots returns the certificate authorities in a PEM file.
func Roots(file string) (*x509.CertPool, error) {
	text, err := durable.ReadFile(file, 16<<20)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s has no certificate in PEM format", file)
	}
	return roots, nil
}

// Parse reads the address of a service. It refuses an address if others on the way could read what is sent.
func Parse(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "":
		return nil, fmt.Errorf("%q is not an address such as https://example.com", address)
	case !loopback.Confidential(u):
		return nil, fmt.Errorf("%q: use https, or http to this machine alone", address)
	}
	return u, nil
}
