package policy

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"callgate/gate"
	"callgate/internal/outbound"
	"callgate/permissions"
)

// AuthZEN is a remote decision point that speaks the AuthZEN Authorization API 1.0.
type AuthZEN struct {
	host, endpoint string
	token          string
	client         *http.Client
}

// maxDecision limits an answer, in bytes.
const maxDecision = 64 << 10

// NewAuthZEN returns a decision point at an address, which is the base of access/v1/evaluation. token may be empty.
// timeout is for one request and MUST be positive.
func NewAuthZEN(address, token string, timeout time.Duration) (*AuthZEN, error) {
	u, err := outbound.Parse(address)
	switch {
	case err != nil:
		return nil, err
	case timeout <= 0:
		return nil, fmt.Errorf("timeout %s: use a positive duration such as 2s", timeout)
	}
	return &AuthZEN{
		host: u.Host, endpoint: u.JoinPath("access", "v1", "evaluation").String(), token: token,
		client: &http.Client{Timeout: timeout, CheckRedirect: outbound.NoRedirects},
	}, nil
}

// Name returns the host of the decision point.
func (a *AuthZEN) Name() string { return a.host }

type authzenEntity struct {
	Type       string         `json:"type"`
	ID         string         `json:"id"`
	Properties map[string]any `json:"properties,omitempty"`
}

type authzenSubject struct {
	Kind  string `json:"kind,omitempty"`
	Value string `json:"value,omitempty"`
	Risk  string `json:"risk"`

	Also []string `json:"also,omitempty"` // other spellings of the value
}

// Advise asks about the whole call, under each name of its tool. Both must be permitted, because a decision does not
// say whether anything forbids the call. A decision of false with "ask": true in its context means ask.
func (a *AuthZEN) Advise(q gate.Question) (permissions.Action, string, error) {
	return eachName(q, a.ask)
}

func (a *AuthZEN) ask(q gate.Question, _ bool) (permissions.Action, string, error) {
	all := subjectsOf(&q)
	subjects := make([]authzenSubject, 0, len(all))
	for i := range all {
		s := &all[i]
		values := valuesOf(s)
		subjects = append(subjects, authzenSubject{s.Kind, values[0], s.Risk.String(), values[1:]})
	}
	arguments := json.RawMessage(q.Call.Arguments)
	if len(arguments) == 0 {
		arguments = json.RawMessage("{}")
	}
	request := map[string]any{
		"subject":  authzenEntity{"agent", q.Agent, map[string]any{"host": q.Host, "principal": q.Call.Principal}},
		"action":   map[string]any{"name": "call", "properties": map[string]any{"arguments": arguments}},
		"resource": authzenEntity{"tool", q.Call.Tool.Qualified, map[string]any{"server": q.Call.Tool.Server, "kind": q.Call.Tool.Kind, "effect": q.Call.Tool.Labels.Effect}},
		"context":  map[string]any{"risk": q.Analysis.Risk.String(), "category": q.Analysis.Category, "workspace": q.Call.Place.Dir, "subjects": subjects},
	}
	body, err := json.Marshal(request)
	if err != nil {
		return permissions.Deny, "", err
	}
	return a.post(body)
}

func (a *AuthZEN) post(body []byte) (permissions.Action, string, error) {
	r, err := http.NewRequestWithContext(context.Background(), http.MethodPost, a.endpoint, bytes.NewReader(body))
	if err != nil {
		return permissions.Deny, "", err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json")
	if a.token != "" {
		r.Header.Set("Authorization", "Bearer "+a.token)
	}
	response, err := a.client.Do(r)
	if err != nil {
		return permissions.Deny, "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxDecision+1))
	switch {
	case err != nil:
		return permissions.Deny, "", err
	case response.StatusCode != http.StatusOK:
		return permissions.Deny, "", fmt.Errorf("it answered %s", response.Status)
	case len(text) > maxDecision:
		return permissions.Deny, "", fmt.Errorf("its answer is longer than %d bytes", maxDecision)
	}
	var answer struct {
		Decision *bool `json:"decision"`
		Context  struct {
			Ask    bool `json:"ask"`
			Reason any  `json:"reason_user"`
			Admin  any  `json:"reason_admin"`
		} `json:"context"`
	}
	if err := json.Unmarshal(text, &answer); err != nil || answer.Decision == nil {
		return permissions.Deny, "", fmt.Errorf("its answer has no decision")
	}
	why := cmp.Or(Reason(answer.Context.Reason), Reason(answer.Context.Admin), "it gives no reason")
	switch {
	case *answer.Decision:
		return permissions.Allow, "", nil
	case answer.Context.Ask:
		return permissions.Ask, why, nil
	}
	return permissions.Deny, why, nil
}

// maxReason limits what is shown of a reason, in bytes.
const maxReason = 300

// Reason returns the text of a reason, which is a string, or strings by language or code.
func Reason(v any) string {
	var text string
	switch v := v.(type) {
	case string:
		text = v
	case map[string]any:
		if english, ok := v["en"].(string); ok {
			text = english
			break
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if s, ok := v[key].(string); ok {
				text = s
				break
			}
		}
	}
	text = strings.Join(strings.Fields(text), " ")
	return strings.TrimSuffix(strings.ToValidUTF8(text[:min(len(text), maxReason)], ""), ".")
}
