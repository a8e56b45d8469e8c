package traces

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"callgate/internal/outbound"
	"callgate/internal/periodic"
)

// collector exports spans over OTLP/HTTP.
type collector struct {
	client   *http.Client
	url      string
	header   http.Header
	compress bool
}

const (
	defaultCollector = "http://localhost:4318"
	defaultTimeout   = 10 * time.Second
	maxResponse      = 64 << 10

	attempts   = 5
	firstPause = time.Second // between two attempts, doubled each time, unless the collector asks for more
)

// setting returns an environment variable of the exporter. The variable for traces precedes the one for all signals.
func setting(name string) string {
	return cmp.Or(os.Getenv("OTEL_EXPORTER_OTLP_TRACES_"+name), os.Getenv("OTEL_EXPORTER_OTLP_"+name))
}

// newCollector returns the collector that the environment describes.
func newCollector() (*collector, error) {
	c := &collector{header: http.Header{}, client: &http.Client{
		Timeout:       defaultTimeout,
		CheckRedirect: outbound.NoRedirects, // the headers are only for this collector
	}}
	address := os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
	if address == "" { // the endpoint for all signals is a base URL
		address = strings.TrimRight(cmp.Or(os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT"), defaultCollector), "/") + "/v1/traces"
	}
	to, err := url.Parse(address)
	if err != nil || to.Scheme != "http" && to.Scheme != "https" || to.Host == "" {
		return nil, errors.New("the endpoint is not an http:// or https:// address")
	}
	c.url = to.String()
	if p := setting("PROTOCOL"); p != "" && p != "http/protobuf" {
		return nil, fmt.Errorf("the protocol %q is not supported: use http/protobuf", p)
	}
	if text := setting("TIMEOUT"); text != "" {
		millis, err := strconv.Atoi(text)
		if err != nil || millis <= 0 {
			return nil, fmt.Errorf("the timeout %q is not a number of milliseconds", text)
		}
		c.client.Timeout = time.Duration(millis) * time.Millisecond
	}
	switch by := setting("COMPRESSION"); by {
	case "", "none":
	case "gzip":
		c.compress = true
	default:
		return nil, fmt.Errorf("the compression %q is unknown: gzip or none", by)
	}
	if err := c.readHeaders(setting("HEADERS")); err != nil {
		return nil, err
	}
	return c, c.readCertificates()
}

// readHeaders reads percent-encoded NAME=VALUE pairs, separated by commas. Its errors contain no value, which may be a
// credential.
func (c *collector) readHeaders(text string) error {
	for pair := range strings.SplitSeq(text, ",") {
		name, value, ok := strings.Cut(strings.TrimSpace(pair), "=")
		if name = strings.TrimSpace(name); name == "" && !ok {
			continue
		}
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if !ok || err != nil || name == "" || strings.ContainsAny(value, "\r\n") {
			return fmt.Errorf("the headers are not a list of NAME=VALUE (at %q)", name)
		}
		c.header.Set(name, value)
	}
	return nil
}

// readCertificates reads the trusted CA certificates and the client certificate.
func (c *collector) readCertificates() error {
	trusted, own, key := setting("CERTIFICATE"), setting("CLIENT_CERTIFICATE"), setting("CLIENT_KEY")
	if trusted == "" && own == "" {
		return nil
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	if trusted != "" {
		roots, err := outbound.Roots(trusted)
		if err != nil {
			return err
		}
		transport.TLSClientConfig.RootCAs = roots
	}
	if own != "" {
		pair, err := tls.LoadX509KeyPair(own, key)
		if err != nil {
			return err
		}
		transport.TLSClientConfig.Certificates = []tls.Certificate{pair}
	}
	c.client.Transport = transport
	return nil
}

// upload sends an ExportTraceServiceRequest. It tries up to attempts times if the collector is busy, until ctx ends.
func (c *collector) upload(ctx context.Context, body []byte) error {
	if c.compress {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		if _, err := z.Write(body); err != nil {
			return err
		}
		if err := z.Close(); err != nil {
			return err
		}
		body = b.Bytes()
	}
	pause := firstPause
	for n := 1; ; n++ {
		again, wait, err := c.send(ctx, body)
		if err == nil || !again || n == attempts {
			return err
		}
		if !periodic.Sleep(ctx, max(wait, pause)) {
			return err
		}
		pause *= 2
	}
}

// send sends once. again means that the collector may accept the request later, after wait.
func (c *collector) send(ctx context.Context, body []byte) (again bool, wait time.Duration, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return false, 0, err
	}
	request.Header = c.header.Clone()
	request.Header.Set("Content-Type", "application/x-protobuf")
	request.Header.Set("User-Agent", "callgate")
	if c.compress {
		request.Header.Set("Content-Encoding", "gzip")
	}
	response, err := c.client.Do(request)
	if err != nil { // some collectors have a secret in their URL
		return false, 0, outbound.WithoutAddress(err)
	}
	defer response.Body.Close()
	_, _ = io.CopyN(io.Discard, response.Body, maxResponse)
	switch response.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		seconds, _ := strconv.Atoi(response.Header.Get("Retry-After"))
		return true, time.Duration(min(max(seconds, 0), 60)) * time.Second, fmt.Errorf("the collector answered %s", response.Status)
	}
	if response.StatusCode/100 != 2 {
		return false, 0, fmt.Errorf("the collector answered %s", response.Status)
	}
	return false, 0, nil
}
