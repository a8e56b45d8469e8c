package loopback

import (
	"net/url"
	"testing"
)

func TestConfidential(t *testing.T) {
	for address, want := range map[string]bool{
		"https://example.com":           true,
		"http://localhost:8080/x":       true,
		"http://LocalHost":              true,
		"http://127.0.0.1:1":            true,
		"http://127.9.9.9":              true,
		"http://[::1]:80":               true,
		"http://[::ffff:127.0.0.1]":     true,
		"http://example.com":            false,
		"http://localhost.example.com":  false,
		"http://127.0.0.1.example.com":  false,
		"http://127.0.0.1@example.com":  false,
		"http://0.0.0.0":                false,
		"http://[::]":                   false,
		"http://192.168.0.1":            false,
		"http://2130706433":             false, // some systems read it as 127.0.0.1, and netip does not
		"ftp://localhost":               false,
		"":                              false,
		"http://":                       false,
		"file:///etc/hosts":             false,
		"ws://127.0.0.1":                false,
		"http://[::ffff:192.168.0.1]:1": false,
	} {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		if got := Confidential(u); got != want {
			t.Errorf("%q: %v", address, got)
		}
	}
}
