package hub

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

// A process joins the hub over its unix socket. Each first proves to the other that it holds a credential, and no
// secret is sent:
//
//	member → hub   introduction: versions, process id, worker, nonce
//	hub → member   introduction: versions, process id, people's address, nonce, proof that it holds the approve credential
//	member → hub   proof that it holds the worker credential
//	hub → member   verdict
//
// A proof covers both nonces. A hub needs the approve credential, because it passes on people's answers. With the
// worker credential a process can show its own approvals, but cannot see or answer those of others. After the handshake
// the connection carries streams (yamux), which the hub opens and on which the member serves HTTP.

// HandshakeVersion is the version of the protocol between hub and members.
const HandshakeVersion = 1

const (
	handshakeTimeout = 2 * time.Second
	maxHandshake     = 4096 // largest message, in bytes
)

// Introduction is each side's first message.
type Introduction struct {
	V       int    `json:"v"`
	Version string `json:"version"` // of callgate
	PID     int    `json:"pid"`
	Nonce   string `json:"nonce"`
	Worker  string `json:"worker,omitempty"`  // from a member: whose rules it follows
	Address string `json:"address,omitempty"` // from the hub: where people connect
	Proof   string `json:"proof,omitempty"`   // from the hub
}

// Verdict is the hub's last message of the handshake.
type Verdict struct {
	Refused string `json:"refused,omitempty"` // the reason; "" means joined
}

// ErrRefused means that one side refused the other. An immediate retry would not help.
var ErrRefused = errors.New("hub and this callgate cannot work together")

// Vouch returns a proof for two nonces that only a holder of token can make. role is the role of the prover.
func Vouch(token, role, own, peers string) string {
	mac := hmac.New(sha256.New, []byte(token))
	mac.Write([]byte("callgate " + role + " v1\x00" + own + "\x00" + peers))
	return hex.EncodeToString(mac.Sum(nil))
}

// JoinHub performs the member's side of the handshake. It returns the approve credential that the hub has proved to
// hold. The caller closes conn.
func (h *Hub) JoinHub(conn *net.UnixConn) (hub Introduction, token string, err error) {
	if err := conn.SetDeadline(time.Now().Add(handshakeTimeout)); err != nil {
		return hub, "", err
	}
	if err := sameUser(conn); err != nil {
		return hub, "", fmt.Errorf("%w: %w", ErrRefused, err)
	}
	own := Introduction{V: HandshakeVersion, Version: h.o.Version, PID: os.Getpid(), Worker: h.o.Worker, Nonce: credentials.Nonce()}
	if err := errors.Join(Say(conn, own), Hear(conn, &hub)); err != nil {
		return hub, "", err
	}
	if hub.V != HandshakeVersion {
		return hub, "", fmt.Errorf("%w: the hub is callgate %s in process %d, and this is callgate %s", ErrRefused, hub.Version, hub.PID, h.o.Version)
	}
	if token, err = h.o.Credentials.Token(credentials.Approve); err != nil {
		return hub, "", err
	}
	if !hmac.Equal([]byte(hub.Proof), []byte(Vouch(token, "hub", hub.Nonce, own.Nonce))) {
		return hub, "", fmt.Errorf("%w: the program that listens at %s does not have the approve credential", ErrRefused, Socket(h.o.DataDir))
	}
	workers, err := h.o.Credentials.Token(credentials.Worker)
	if err != nil {
		return hub, "", err
	}
	var v Verdict
	if err := errors.Join(Say(conn, Vouch(workers, "worker", own.Nonce, hub.Nonce)), Hear(conn, &v)); err != nil {
		return hub, "", err
	}
	if v.Refused != "" {
		return hub, "", fmt.Errorf("%w: %s", ErrRefused, v.Refused)
	}
	return hub, token, conn.SetDeadline(time.Time{})
}

// admit performs the hub's side of the handshake. It returns the worker credential that the member has proved to hold.
// The caller closes conn.
func (h *Hub) admit(conn *net.UnixConn, address string) (peer Introduction, token string, err error) {
	if err := conn.SetDeadline(time.Now().Add(handshakeTimeout)); err != nil {
		return peer, "", err
	}
	if err := sameUser(conn); err != nil {
		return peer, "", err
	}
	if err := Hear(conn, &peer); err != nil {
		return peer, "", err
	}
	own := Introduction{V: HandshakeVersion, Version: h.o.Version, PID: os.Getpid(), Address: address, Nonce: credentials.Nonce()}
	approve, err := h.o.Credentials.Token(credentials.Approve)
	if err != nil {
		return peer, "", err
	}
	own.Proof = Vouch(approve, "hub", own.Nonce, peer.Nonce)
	var proof string
	if err := errors.Join(Say(conn, own), Hear(conn, &proof)); err != nil {
		return peer, "", err
	}
	if token, err = h.o.Credentials.Token(credentials.Worker); err != nil {
		return peer, "", err
	}
	if !hmac.Equal([]byte(proof), []byte(Vouch(token, "worker", peer.Nonce, own.Nonce))) {
		return peer, "", errors.Join(errors.New("it does not have the worker credential"), Say(conn, Verdict{Refused: "the worker credential is another"}))
	}
	return peer, token, errors.Join(Say(conn, Verdict{}), conn.SetDeadline(time.Time{}))
}

// Say writes one message: its length in two bytes, big-endian, then JSON.
func Say(w io.Writer, message any) error {
	data, err := json.Marshal(message)
	if err != nil {
		return err
	}
	_, err = w.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(data))), data...))
	return err
}

// Hear reads one message, and not a byte beyond it.
func Hear(r io.Reader, into any) error {
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
