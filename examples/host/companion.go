package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// companion is callgate's side server, where approvals wait for people.
type companion struct {
	dataDir string
	address string // http://host:port
	token   string
	http    http.Client
}

var (
	errNoQuestion = errors.New("the call is not pending")
	errNotPending = errors.New("somebody else was faster")
)

// findCompanion reads the companion's address and the credential that may approve from the data directory. The host
// MUST NOT pass on either: not to a model, not to a tool.
func findCompanion(dataDir string) (*companion, error) {
	text, err := os.ReadFile(filepath.Join(dataDir, "companion.json"))
	if err != nil {
		return nil, err
	}
	var announced struct {
		Address string `json:"address"`
	}
	if err := json.Unmarshal(text, &announced); err != nil {
		return nil, fmt.Errorf("companion.json: %w", err)
	}
	token, err := os.ReadFile(credential(dataDir))
	if err != nil {
		return nil, err
	}
	c := &companion{
		dataDir: dataDir,
		address: strings.TrimSuffix(announced.Address, "/"),
		token:   strings.TrimSpace(string(token)),
		http:    http.Client{Timeout: 10 * time.Second},
	}
	if !strings.Contains(c.address, "://") {
		c.address = "http://" + c.address
	}
	return c, nil
}

func credential(dataDir string) string { return filepath.Join(dataDir, "credentials", "approve") }

// approval holds the parts of a tool_approve_request that this host shows or needs for an answer.
type approval struct {
	ID         string          `json:"approvalId"`
	SessionID  string          `json:"sessionId"`
	Tool       string          `json:"tool"`
	Args       json.RawMessage `json:"args"`
	ArgsDigest string          `json:"argsDigest"`
	Summary    string          `json:"summary"`
	Risk       struct {
		Class string `json:"class"`
		Label string `json:"label"`
	} `json:"risk"`
	Always    []offer   `json:"always"`
	ExpiresAt time.Time `json:"expiresAt"`
}

// offer is a pattern that "always" may grant.
type offer struct {
	Tool    string `json:"tool"`
	Pattern string `json:"pattern"`
	Default bool   `json:"default"`
}

// pending returns the waiting approval of a shell command, or errNoQuestion.
func (c *companion) pending(ctx context.Context, tool, command string) (approval, error) {
	var list struct {
		Approvals []approval `json:"approvals"`
	}
	if err := c.do(ctx, http.MethodGet, "/api/approvals", nil, &list); err != nil {
		return approval{}, err
	}
	for _, a := range list.Approvals {
		var args struct {
			Command string `json:"command"`
		}
		if a.Tool == tool && json.Unmarshal(a.Args, &args) == nil && args.Command == command {
			return a, nil
		}
	}
	return approval{}, errNoQuestion
}

// answer sends a decision, bound to the arguments that were shown. It returns errNotPending if the approval is no
// longer open.
func (c *companion) answer(ctx context.Context, a approval, decision string) error {
	body := map[string]string{"sessionId": a.SessionID, "argsDigest": a.ArgsDigest, "decision": decision}
	if decision == "reject" {
		body["feedback"] = feedback
	}
	var reply struct {
		Applied bool `json:"applied"`
	}
	err := c.do(ctx, http.MethodPost, "/api/approvals/"+url.PathEscape(a.ID), body, &reply)
	if err == nil && !reply.Applied {
		return errNotPending
	}
	return err
}

// do makes one request. It returns errNotPending for status 404.
func (c *companion) do(ctx context.Context, method, path string, body, into any) error {
	var sent io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return err
		}
		sent = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(ctx, method, c.address+path, sent)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+c.token)
	request.Header.Set("Content-Type", "application/json")
	response, err := c.http.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, 4<<20))
	switch {
	case err != nil:
		return err
	case response.StatusCode == http.StatusNotFound:
		return errNotPending
	case response.StatusCode != http.StatusOK:
		return fmt.Errorf("%s %s: %s: %s", method, path, response.Status, bytes.TrimSpace(text))
	}
	return json.Unmarshal(text, into)
}
