package companion

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"callgate/internal/companion/credentials"
)

// A process joins the hub over its unix socket. The two prove to each other what they hold before anything else
// is said, and no secret crosses:
//
//	member → hub   introduction: versions, process id, worker, nonce
//	hub → member   introduction: versions, process id, people's address, nonce, proof that it holds the approve credential
//	member → hub   proof that it holds the worker credential
//	hub → member   verdict
//
// A proof covers both nonces. The approve credential makes a hub, because a hub passes on what people answer; the
// worker credential lets a process show its own approvals, and see and answer nothing of the others. From then on
// the connection carries streams (yamux), which the hub opens and on which the member serves HTTP.

// hubVersion is the version of what hub and members speak to each other.
const hubVersion = 1

const (
	handshakeTimeout = 2 * time.Second
	maxHandshake     = 4096 // bytes of one message
)

// introduction is what each side says first.
type introduction struct {
	V       int    `json:"v"`
	Version string `json:"version"` // of callgate
	PID     int    `json:"pid"`
	Nonce   string `json:"nonce"`
	Worker  string `json:"worker,omitempty"`  // member: whose rules it goes by
	Address string `json:"address,omitempty"` // hub: where people come in
	Proof   string `json:"proof,omitempty"`   // hub
}

// verdict is how the hub ends the handshake.
type verdict struct {
	Refused string `json:"refused,omitempty"` // why; "" means joined
}

// errRefused is why one side does not want the other; trying again at once would not help.
var errRefused = errors.New("hub and this callgate cannot work together")

// vouch is what only a holder of token can say as role about the two nonces.
func vouch(token, role, own, peers string) string {
	mac := hmac.New(sha256.New, []byte(token))
	mac.Write([]byte("callgate " + role + " v1\x00" + own + "\x00" + peers))
	return hex.EncodeToString(mac.Sum(nil))
}

// joinHub is the member's side. The token returned is the approve credential that the hub has proven to hold.
func (s *Server) joinHub(conn *net.UnixConn) (hub introduction, token string, err error) {
	if err := conn.SetDeadline(time.Now().Add(handshakeTimeout)); err != nil {
		return hub, "", err
	}
	if err := sameUser(conn); err != nil {
		return hub, "", fmt.Errorf("%w: %w", errRefused, err)
	}
	own := introduction{V: hubVersion, Version: s.options.Version, PID: os.Getpid(), Worker: s.options.Worker, Nonce: credentials.Nonce()}
	if err := errors.Join(say(conn, own), hear(conn, &hub)); err != nil {
		return hub, "", err
	}
	if hub.V != hubVersion {
		return hub, "", fmt.Errorf("%w: the hub is callgate %s in process %d, and this is callgate %s", errRefused, hub.Version, hub.PID, s.options.Version)
	}
	if token, err = s.credentials.Token(credentials.Approve); err != nil {
		return hub, "", err
	}
	if !hmac.Equal([]byte(hub.Proof), []byte(vouch(token, "hub", hub.Nonce, own.Nonce))) {
		return hub, "", fmt.Errorf("%w: what listens at %s does not hold the approve credential", errRefused, hubSocket(s.options.DataDir))
	}
	workers, err := s.credentials.Token(credentials.Worker)
	if err != nil {
		return hub, "", err
	}
	var v verdict
	if err := errors.Join(say(conn, vouch(workers, "worker", own.Nonce, hub.Nonce)), hear(conn, &v)); err != nil {
		return hub, "", err
	}
	if v.Refused != "" {
		return hub, "", fmt.Errorf("%w: %s", errRefused, v.Refused)
	}
	return hub, token, conn.SetDeadline(time.Time{})
}

// admit is the hub's side. The token returned is the worker credential that the member has proven to hold.
func (s *Server) admit(conn *net.UnixConn, address string) (peer introduction, token string, err error) {
	if err := conn.SetDeadline(time.Now().Add(handshakeTimeout)); err != nil {
		return peer, "", err
	}
	if err := sameUser(conn); err != nil {
		return peer, "", err
	}
	if err := hear(conn, &peer); err != nil {
		return peer, "", err
	}
	own := introduction{V: hubVersion, Version: s.options.Version, PID: os.Getpid(), Address: address, Nonce: credentials.Nonce()}
	approve, err := s.credentials.Token(credentials.Approve)
	if err != nil {
		return peer, "", err
	}
	own.Proof = vouch(approve, "hub", own.Nonce, peer.Nonce)
	var proof string
	if err := errors.Join(say(conn, own), hear(conn, &proof)); err != nil {
		return peer, "", err
	}
	if token, err = s.credentials.Token(credentials.Worker); err != nil {
		return peer, "", err
	}
	if !hmac.Equal([]byte(proof), []byte(vouch(token, "worker", peer.Nonce, own.Nonce))) {
		return peer, "", errors.Join(errors.New("it does not hold the worker credential"), say(conn, verdict{Refused: "the worker credential is another"}))
	}
	return peer, token, errors.Join(say(conn, verdict{}), conn.SetDeadline(time.Time{}))
}

// say writes one message: its length in two bytes, then JSON.
func say(w io.Writer, message any) error {
	data, err := json.Marshal(message)
	if err != nil {
		return err
	}
	_, err = w.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(data))), data...))
	return err
}

// hear reads one message and no byte of what follows.
func hear(r io.Reader, into any) error {
	var length [2]byte
	if _, err := io.ReadFull(r, length[:]); err != nil {
		return err
	}
	n := binary.BigEndian.Uint16(length[:])
	if n > maxHandshake {
		return fmt.Errorf("a message of %d bytes, and %d are allowed", n, maxHandshake)
	}
	data := make([]byte, n)
	if _, err := io.ReadFull(r, data); err != nil {
		return err
	}
	return json.Unmarshal(data, into)
}
