package command

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// receiverSecret signs what the stories' webhooks send.
const receiverSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// receiver is the receiver of webhooks in stories, a separate process: `receiver DIR`. It serves TLS with a certificate
// that it makes in DIR, on the same port after a restart. It answers with the status in DIR/status, writes every
// attempt to DIR/attempts.txt, and what it accepts to DIR/taken.txt, if the signature is right.
func receiver() {
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt) // shells make background jobs ignore it
	go func() {
		<-interrupted
		os.Exit(0)
	}()
	if err := receive(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func receive(dir string) error {
	certificate, err := receiverCertificate(dir)
	if err != nil {
		return err
	}
	address := "127.0.0.1:0"
	if before, err := os.ReadFile(filepath.Join(dir, "address")); err == nil {
		address = string(before)
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "address"), []byte(listener.Addr().String()), 0o600); err != nil {
		return err
	}
	verifier, err := standardwebhooks.NewWebhook(receiverSecret)
	if err != nil {
		return err
	}
	note := func(file, format string, args ...any) {
		f, err := os.OpenFile(filepath.Join(dir, file), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err == nil {
			_, err = fmt.Fprintf(f, format+"\n", args...)
			err = errors.Join(err, f.Close())
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	server := &http.Server{
		ReadHeaderTimeout: time.Minute,
		TLSConfig:         &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{certificate}},
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err := errors.Join(err, verifier.Verify(body, r.Header)); err != nil {
				note("wrong.txt", "%v", err)
				w.WriteHeader(http.StatusBadRequest)
				return
			}
			status := http.StatusOK
			if text, err := os.ReadFile(filepath.Join(dir, "status")); err == nil {
				_, _ = fmt.Sscan(string(text), &status)
			}
			note("attempts.txt", "%s %d %s", r.Header.Get("webhook-id"), status, body)
			if status == http.StatusOK {
				note("taken.txt", "%s %s", r.Header.Get("webhook-id"), body)
			}
			if status == http.StatusFound {
				w.Header().Set("Location", "http://127.0.0.1:1/")
			}
			w.WriteHeader(status)
		}),
	}
	return server.ServeTLS(listener, "", "")
}

// receiverCertificate makes a certificate, or reads the one that it made before.
func receiverCertificate(dir string) (tls.Certificate, error) {
	certFile, keyFile := filepath.Join(dir, "ca.pem"), filepath.Join(dir, "key.pem")
	if _, err := os.Stat(keyFile); err == nil {
		return tls.LoadX509KeyPair(certFile, keyFile)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "receiver"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return tls.Certificate{}, err
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return tls.Certificate{}, err
	}
	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert})
	keyPEM := pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})
	if err := errors.Join(os.WriteFile(certFile, certPEM, 0o600), os.WriteFile(keyFile, keyPEM, 0o600)); err != nil {
		return tls.Certificate{}, err
	}
	return tls.X509KeyPair(certPEM, keyPEM)
}
