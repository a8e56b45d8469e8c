package traces

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
)

// TestCollector sends spans as the environment says: compressed, with headers, and again if the collector is busy.
func TestCollector(t *testing.T) {
	var requests atomic.Int32
	got := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if requests.Add(1) == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		if r.URL.Path != "/base/v1/traces" || r.Header.Get("X-Key") != "a b" || r.Header.Get("Content-Type") != "application/x-protobuf" || r.Header.Get("Content-Encoding") != "gzip" {
			t.Errorf("%s %v", r.URL, r.Header)
		}
		z, err := gzip.NewReader(r.Body)
		if err != nil {
			t.Error(err)
			return
		}
		body, err := io.ReadAll(z)
		if err != nil {
			t.Error(err)
		}
		got <- string(body)
	}))
	defer server.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", server.URL+"/base/")
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-key=a%20b,x-other=1")
	t.Setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip")
	c, err := newCollector()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.upload(t.Context(), []byte("sent")); err != nil {
		t.Fatal(err)
	}
	if body := <-got; body != "sent" {
		t.Errorf("got %q", body)
	}
	if n := requests.Load(); n != 2 {
		t.Errorf("%d requests", n)
	}
}

// TestCollectorElsewhere checks that a server that is no collector is reported, without redirects and without revealing
// a secret.
func TestCollectorElsewhere(t *testing.T) {
	for _, status := range []int{http.StatusMovedPermanently, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusForbidden, http.StatusInternalServerError} {
		var requests atomic.Int32
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if requests.Add(1) == 1 {
				w.Header().Set("Location", "/elsewhere")
				w.WriteHeader(status)
			}
		}))
		t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", server.URL+"/?key=hidden")
		c, err := newCollector()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.upload(t.Context(), []byte("sent")); err == nil || !strings.Contains(err.Error(), strconv.Itoa(status)) || requests.Load() != 1 {
			t.Errorf("%d: %v, %d requests", status, err, requests.Load())
		}
		server.Close()
		if err := c.upload(t.Context(), []byte("sent")); err == nil || strings.Contains(err.Error(), "hidden") {
			t.Errorf("it is gone: %v", err)
		}
	}
}

// TestCollectorSettings checks that the exporter's specified settings are read and that other values are refused.
func TestCollectorSettings(t *testing.T) {
	for _, c := range []struct {
		name, env, value string
		url, wrong       string
	}{
		{name: "nothing", url: "http://localhost:4318/v1/traces"},
		{name: "a base", env: "ENDPOINT", value: "https://c.example/x", url: "https://c.example/x/v1/traces"},
		{name: "one for traces is taken as it is", env: "TRACES_ENDPOINT", value: "http://c.example/t", url: "http://c.example/t"},
		{name: "no address", env: "ENDPOINT", value: "c.example:4318", wrong: "address"},
		{name: "gRPC", env: "PROTOCOL", value: "grpc", wrong: "http/protobuf"},
		{name: "a timeout", env: "TIMEOUT", value: "10s", wrong: "milliseconds"},
		{name: "a compression", env: "TRACES_COMPRESSION", value: "zstd", wrong: "gzip"},
		{name: "headers", env: "HEADERS", value: "secret", wrong: "NAME=VALUE"},
		{name: "a header in two lines", env: "HEADERS", value: "a=b%0d%0ac:d", wrong: "NAME=VALUE"},
		{name: "no certificate", env: "CERTIFICATE", value: "/nowhere.pem", wrong: "nowhere"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, name := range []string{"ENDPOINT", "TRACES_ENDPOINT", "PROTOCOL", "TIMEOUT", "HEADERS", "TRACES_COMPRESSION", "CERTIFICATE"} {
				t.Setenv("OTEL_EXPORTER_OTLP_"+name, "")
			}
			if c.env != "" {
				t.Setenv("OTEL_EXPORTER_OTLP_"+c.env, c.value)
			}
			got, err := newCollector()
			if c.wrong != "" {
				if err == nil || !strings.Contains(err.Error(), c.wrong) {
					t.Errorf("error %v, want one about %s", err, c.wrong)
				}
			} else if err != nil || got.url != c.url {
				t.Errorf("%v, %v", got, err)
			}
		})
	}
}
