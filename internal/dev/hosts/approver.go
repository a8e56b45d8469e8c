package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// answered is an approval that the person in these runs answered.
type answered struct {
	shown time.Time
	given time.Time // zero if the call was over first
}

// question is the part of a pending approval that an answer needs.
type question struct {
	ApprovalID string `json:"approvalId"`
	SessionID  string `json:"sessionId"`
	ArgsDigest string `json:"argsDigest"`
}

// answer approves by REST all that waits at the callgate with that data directory, each after wait, until ctx ends.
func answer(ctx context.Context, data string, wait time.Duration) (all []answered) {
	seen := map[string]int{}
	for tick := time.NewTicker(500 * time.Millisecond); ; {
		select {
		case <-ctx.Done():
			tick.Stop()
			return all
		case <-tick.C:
		}
		waiting, err := pendingAt(ctx, data)
		if err != nil {
			continue // callgate does not run yet, or no longer
		}
		for _, q := range waiting {
			i, known := seen[q.ApprovalID]
			if !known {
				i = len(all)
				seen[q.ApprovalID], all = i, append(all, answered{shown: time.Now()})
			}
			if time.Since(all[i].shown) >= wait && all[i].given.IsZero() && approve(ctx, data, q) == nil {
				all[i].given = time.Now()
			}
		}
	}
}

func pendingAt(ctx context.Context, data string) ([]question, error) {
	var list struct{ Approvals []question }
	err := rest(ctx, data, http.MethodGet, "/api/approvals", nil, &list)
	return list.Approvals, err
}

func approve(ctx context.Context, data string, q question) error {
	body := object{"sessionId": q.SessionID, "argsDigest": q.ArgsDigest, "decision": "approve"}
	return rest(ctx, data, http.MethodPost, "/api/approvals/"+q.ApprovalID, body, &struct{}{})
}

// rest makes a request to the companion as a person who may approve.
func rest(ctx context.Context, data, method, path string, body, result any) error {
	text, err := os.ReadFile(filepath.Join(data, "companion.json"))
	if err != nil {
		return err
	}
	var companion struct{ Address string }
	if err := json.Unmarshal(text, &companion); err != nil {
		return err
	}
	token, err := os.ReadFile(filepath.Join(data, "credentials", "approve"))
	if err != nil {
		return err
	}
	sent, err := json.Marshal(body)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, "http://"+strings.TrimPrefix(companion.Address, "http://")+path, bytes.NewReader(sent))
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	r.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s: %s", method, path, response.Status)
	}
	return json.NewDecoder(response.Body).Decode(result)
}
