package stateless

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"callgate/internal/jsonx"
	"callgate/internal/rpc"
)

// requestState is what a stateless host carries from one round of a request to the next. It is sealed, so the host can
// neither read nor make one. It is valid for one principal, one view, one request and a limited time.
type requestState struct {
	Parked    string    `json:"e,omitempty"` // name of the parked request
	Round     int       `json:"l,omitempty"` // number of the round that ended with this state
	Approval  string    `json:"a,omitempty"` // or the id of the pending approval
	Principal string    `json:"p"`
	View      View      `json:"v"`
	Digest    string    `json:"d"`
	Until     time.Time `json:"u"`
}

var errHandle = errors.New("callgate did not give this requestState for this request, or it has expired: make the call without it")

// newSeal returns the cipher that seals states. States survive a restart if the key comes from a secret on disk;
// without a secret they do not.
func newSeal(secret []byte) (cipher.AEAD, error) {
	key := sha256.Sum256(append([]byte("callgate requestState 1\x00"), secret...))
	if secret == nil {
		rand.Read(key[:])
	}
	block, err := aes.NewCipher(key[:])
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

func (all *Clients) seal(from Sender, h requestState) (string, error) {
	h.Principal, h.View = from.Principal, from.View
	text, err := json.Marshal(h)
	if err != nil {
		return "", err
	}
	sealed := base64.RawURLEncoding.EncodeToString(all.aead.Seal(nil, nil, text, nil))
	if h.Parked == "" { // every process knows approvals
		return sealed, nil
	}
	return all.o.Place() + "." + sealed, nil
}

// unseal opens a state for the sender's request with that digest.
func (all *Clients) unseal(from Sender, text, digest string) (h requestState, err error) {
	sealed, err := base64.RawURLEncoding.Strict().DecodeString(text[strings.LastIndexByte(text, '.')+1:])
	if err != nil {
		return requestState{}, errHandle
	}
	open, err := all.aead.Open(nil, nil, sealed, nil)
	if err != nil || json.Unmarshal(open, &h) != nil || h.Principal != from.Principal || h.View != from.View || h.Digest != digest || digest == "" || time.Now().After(h.Until) {
		return requestState{}, errHandle
	}
	return h, nil
}

// PlacesOf returns the places (Options.Place) of what a stateless request continues: a call that its requestState
// names, or tasks.
func PlacesOf(m rpc.Message) (places []string) {
	var state [1]jsonx.Member
	if slices.Contains(repeatable, m.Method) && jsonx.Members(m.Params, []string{"requestState"}, state[:]) == nil {
		if text, ok := jsonx.String(state[0].Value); ok && strings.Contains(text, ".") {
			place, _, _ := strings.Cut(text, ".")
			return []string{place}
		}
	}
	return tasksOf(m)
}
