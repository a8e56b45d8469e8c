// Package pushservice provides a push service and the browsers behind it, for tests. It checks the sender's signature
// (VAPID, RFC 8292) and decrypts messages (RFC 8291), as a browser does.
package pushservice

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/golang-jwt/jwt/v5"
)

// Service is a running push service.
type Service struct {
	*httptest.Server
	t       testing.TB
	mu      sync.Mutex
	browser map[string]*Browser
	Got     chan Message
}

// Message is what a browser received.
type Message struct {
	Browser             *Browser
	Payload             []byte
	Topic, TTL, Urgency string
	Subject             string // whom the service could contact
}

// Browser is one subscription.
type Browser struct {
	Endpoint, P256dh, Auth string
	Key                    string // callgate's key, with which it subscribed
	Gone                   bool   // the person withdrew it
	private                *ecdh.PrivateKey
	secret                 []byte
}

// New starts a push service, which ends with the test.
func New(t testing.TB) *Service {
	s := &Service{t: t, browser: map[string]*Browser{}, Got: make(chan Message, 100)}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.Close)
	return s
}

// Subscribe returns a browser that accepts messages signed with the key.
func (s *Service) Subscribe(key string) *Browser {
	private, err := ecdh.P256().GenerateKey(rand.Reader)
	if err != nil {
		s.t.Fatal(err)
	}
	b := &Browser{Key: key, private: private, secret: []byte(rand.Text()[:16])}
	b.P256dh, b.Auth = base64.RawURLEncoding.EncodeToString(private.PublicKey().Bytes()), base64.RawURLEncoding.EncodeToString(b.secret)
	path := "/push/" + rand.Text()
	b.Endpoint = s.URL + path
	s.mu.Lock()
	defer s.mu.Unlock()
	s.browser[path] = b
	return b
}

// Forget makes the service answer that the browser is gone.
func (s *Service) Forget(b *Browser) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b.Gone = true
}

func (s *Service) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	b := s.browser[r.URL.Path]
	gone := b != nil && b.Gone
	s.mu.Unlock()
	switch {
	case b == nil:
		http.Error(w, "nobody", http.StatusNotFound)
		return
	case gone:
		http.Error(w, "not any more", http.StatusGone)
		return
	}
	subject, err := s.signed(r, b)
	if err != nil {
		http.Error(w, err.Error(), http.StatusForbidden)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err == nil && r.Header.Get("Content-Encoding") != "aes128gcm" {
		err = errors.New("this is not aes128gcm")
	}
	var payload []byte
	if err == nil {
		payload, err = b.open(body)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.Got <- Message{Browser: b, Payload: payload, Topic: r.Header.Get("Topic"), TTL: r.Header.Get("TTL"), Urgency: r.Header.Get("Urgency"), Subject: subject}
	w.WriteHeader(http.StatusCreated)
}

// signed checks who sends, to which service and until when. It returns the sender's contact.
func (s *Service) signed(r *http.Request, b *Browser) (subject string, err error) {
	var token, key string
	fields, ok := strings.CutPrefix(r.Header.Get("Authorization"), "vapid ")
	for field := range strings.SplitSeq(fields, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(field), "=")
		switch name {
		case "t":
			token = value
		case "k":
			key = value
		}
	}
	if !ok || strings.TrimRight(key, "=") != strings.TrimRight(b.Key, "=") {
		return "", errors.New("this is not the server that the browser subscribed to")
	}
	point, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(key, "="))
	if err != nil {
		return "", fmt.Errorf("the key is not base64: %w", err)
	}
	public, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), point)
	if err != nil {
		return "", fmt.Errorf("the key is not a point: %w", err)
	}
	claims := jwt.MapClaims{}
	_, err = jwt.ParseWithClaims(token, claims, func(*jwt.Token) (any, error) { return public, nil },
		jwt.WithValidMethods([]string{"ES256"}), jwt.WithAudience(s.URL), jwt.WithExpirationRequired())
	if err != nil {
		return "", err
	}
	return claims.GetSubject()
}

// open decrypts a message of one record.
func (b *Browser) open(body []byte) ([]byte, error) {
	const salted = 16
	if len(body) < salted+5+65 {
		return nil, errors.New("too short")
	}
	salt, size, point := body[:salted], binary.BigEndian.Uint32(body[salted:]), body[salted+5:salted+5+int(body[salted+4])]
	sealed := body[salted+5+len(point):]
	sender, err := ecdh.P256().NewPublicKey(point)
	if err != nil || len(sealed) > int(size) {
		return nil, fmt.Errorf("no record: %w", err)
	}
	shared, err := b.private.ECDH(sender)
	if err != nil {
		return nil, err
	}
	var failed []error
	derive := func(secret, salt []byte, info string, n int) []byte {
		key, err := hkdf.Key(sha256.New, secret, salt, info, n)
		failed = append(failed, err)
		return key
	}
	ikm := derive(shared, b.secret, "WebPush: info\x00"+string(b.private.PublicKey().Bytes())+string(point), 32)
	key := derive(ikm, salt, "Content-Encoding: aes128gcm\x00", 16)
	nonce := derive(ikm, salt, "Content-Encoding: nonce\x00", 12)
	if err := errors.Join(failed...); err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	text, err := gcm.Open(nil, nonce, sealed, nil)
	if err != nil {
		return nil, err
	}
	at := bytes.LastIndexByte(text, 2) // the delimiter of the last record, before the padding
	if at < 0 {
		return nil, errors.New("no end")
	}
	return text[:at], nil
}
