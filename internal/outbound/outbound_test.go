package outbound

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for address, want := range map[string]bool{
		"https://example.com/x": true, "http://127.0.0.1:1": true, "http://localhost": true,
		"": false, "example.com": false, "https://": false, "https:x": false, "http://example.com": false, "ftp://localhost": false, "https://[": false,
	} {
		if u, err := Parse(address); (err == nil) != want || want && u.String() != address {
			t.Errorf("%q: %v %v", address, u, err)
		}
	}
}

func TestClient(t *testing.T) {
	server := httptest.NewServer(http.RedirectHandler("/elsewhere", http.StatusFound))
	client := &http.Client{CheckRedirect: NoRedirects}
	response, err := client.Get(server.URL + "/a-secret")
	if err != nil || response.StatusCode != http.StatusFound {
		t.Fatal(response, err)
	}
	response.Body.Close()
	server.Close()
	_, err = client.Get(server.URL + "/a-secret")
	for _, err := range []error{err, fmt.Errorf("push: %w", err)} {
		if err := WithoutAddress(err); err == nil || strings.Contains(err.Error(), "a-secret") {
			t.Error(err)
		}
	}
	if err := WithoutAddress(nil); err != nil {
		t.Error(err)
	}
}
