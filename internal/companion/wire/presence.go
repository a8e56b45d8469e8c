package wire

import "time"

// PresenceHeader has the passkey's answer, JSON in base64, on a request that was refused with PRESENCE before.
const PresenceHeader = "Callgate-Presence"

// PresenceChallenge is what a passkey has to sign.
type PresenceChallenge struct {
	Nonce     string   `json:"nonce"`
	Challenge string   `json:"challenge"` // base64url
	Party     string   `json:"rpId"`
	Keys      []string `json:"keys"` // ids of the passkeys that may sign
}

// PresenceView says what needs a passkey, and lists the passkeys.
type PresenceView struct {
	Needs string        `json:"needs"` // none, high or always
	Page  string        `json:"page"`  // where passkeys work
	Keys  []PresenceKey `json:"keys"`
}

// PresenceKey is one passkey.
type PresenceKey struct {
	ID     string    `json:"id"`
	Name   string    `json:"name"`
	Person string    `json:"person,omitempty"`
	Party  string    `json:"rpId"`
	Added  time.Time `json:"added"`
}

// PresenceAdd registers a passkey.
type PresenceAdd struct {
	Code   string `json:"code"` // from "callgate passkeys add"
	ID     string `json:"id"`   // base64url
	Name   string `json:"name"`
	Public []byte `json:"public"` // PKIX, in base64
}
