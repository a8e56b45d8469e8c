//nolint:staticcheck // Logging, sampling and roots are deprecated and still to be relayed.
package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/internal/testserver/features"
)

// feature is a row of the matrix: a feature of MCP that a host uses with a server through callgate.
type feature struct {
	name string
	try  func(ctx context.Context, h *matrixHost, host, upstream end) error

	// apart replaces try for what the official Go SDK lacks on both sides: with raw messages, and servers of tasks.
	apart func(ctx context.Context, way sdk.Transport, prefix string, host, upstream end) error
}

var matrixFeatures = []feature{
	{name: "call", try: tryCall},
	{name: "progress", try: tryProgress},
	{name: "cancel", try: tryCancel},
	{name: "log", try: tryLog},
	{name: "sampling", try: answered("ask_sampling", answeredSample)},
	{name: "elicitation form", try: answered("ask_form", answeredName)},
	{name: "elicitation url", try: tryURL},
	{name: "roots", try: answered("ask_roots", answeredRoot)},
	{name: "list_changed", try: tryListChanged},
	{name: "subscribe", try: trySubscribe},
	{name: "complete", try: tryComplete},
	{name: "task", apart: tryTask},
	{name: "error", try: tryError},
	{name: "large", try: tryLarge},
}

func tryCall(ctx context.Context, h *matrixHost, _, upstream end) error {
	said, err := h.call(ctx, "era", nil, nil)
	if err != nil || said != upstream.era {
		return fmt.Errorf("the server was spoken to in %q: %w", said, err)
	}
	said, err = h.call(ctx, "echo", map[string]any{"text": "é \U0001F680", "n": 1.5}, nil)
	if err == nil && said != `{"n":1.5,"text":"é 🚀"}` {
		err = fmt.Errorf("the arguments arrived as %s", said)
	}
	return err
}

func tryProgress(ctx context.Context, h *matrixHost, _, _ end) error {
	if _, err := h.call(ctx, "progress", nil, sdk.Meta{"progressToken": "p"}); err != nil {
		return err
	}
	return h.until(ctx, "three steps of progress that rise", func() bool { return slices.Equal(h.progress["p"], []float64{1, 2, 3}) })
}

// tryCancel cancels a running call, and asks the server whether it heard that.
func tryCancel(ctx context.Context, h *matrixHost, _, _ end) error {
	calling, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, err := h.call(calling, "wait", map[string]any{"key": "k"}, sdk.Meta{"progressToken": "w"})
		ended <- err
	}()
	if err := h.until(ctx, "progress of the call", func() bool { return len(h.progress["w"]) > 0 }); err != nil {
		return err
	}
	cancel()
	if err := <-ended; err == nil {
		return errors.New("the call went on")
	}
	for {
		said, err := h.call(ctx, "stopped", map[string]any{"key": "k"}, nil)
		if err != nil || said == "true" {
			return err
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return errors.New("the server did not hear of it")
		}
	}
}

func tryLog(ctx context.Context, h *matrixHost, host, _ end) error {
	meta := sdk.Meta{}
	if host.era == features.Modern {
		meta[sdk.MetaKeyLogLevel] = "info"
	} else if err := h.session.SetLoggingLevel(ctx, &sdk.SetLoggingLevelParams{Level: "info"}); err != nil {
		return err
	}
	if _, err := h.call(ctx, "log", nil, meta); err != nil {
		return err
	}
	return h.until(ctx, "line of the log", func() bool { return slices.Contains(h.logged, any("a line")) })
}

// answered calls a tool that asks the host, and checks that the host's answer arrived.
func answered(tool, want string) func(context.Context, *matrixHost, end, end) error {
	return func(ctx context.Context, h *matrixHost, _, _ end) error {
		said, err := h.call(ctx, tool, nil, nil)
		if err == nil && !strings.Contains(said, want) {
			err = fmt.Errorf("the host's answer arrived as %s", said)
		}
		return err
	}
}

func tryURL(ctx context.Context, h *matrixHost, _, _ end) error {
	said, err := h.call(ctx, "ask_url", nil, nil)
	if err == nil && !strings.Contains(said, "accept") {
		err = fmt.Errorf("the host's answer arrived as %s", said)
	}
	if err != nil {
		return err
	}
	return h.until(ctx, "address", func() bool {
		return slices.ContainsFunc(h.asked, func(p *sdk.ElicitParams) bool { return p.URL == features.Page && p.Mode == "url" })
	})
}

func tryListChanged(ctx context.Context, h *matrixHost, _, _ end) error {
	listed := func() (bool, error) {
		tools, err := h.session.ListTools(ctx, nil)
		if err != nil {
			return false, err
		}
		return slices.ContainsFunc(tools.Tools, func(t *sdk.Tool) bool { return t.Name == h.prefix+"added" }), nil
	}
	if there, err := listed(); err != nil || there {
		return fmt.Errorf("the tool is there before: %v, %w", there, err)
	}
	var before int
	h.note(func() { before = h.relisted })
	if _, err := h.call(ctx, "change", nil, nil); err != nil {
		return err
	}
	for {
		if err := h.until(ctx, "list_changed", func() bool { return h.relisted > before }); err != nil {
			return err
		}
		h.note(func() { before = h.relisted })
		if there, err := listed(); err != nil || there {
			return err
		}
	}
}

func trySubscribe(ctx context.Context, h *matrixHost, _, _ end) error {
	if err := h.session.Subscribe(ctx, &sdk.SubscribeParams{URI: features.Watched}); err != nil {
		return err
	}
	for heard := false; !heard; { // a client of the modern era does not wait until the subscription is acknowledged
		if _, err := h.call(ctx, "touch", nil, nil); err != nil {
			return err
		}
		soon, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
		heard = h.until(soon, "update", func() bool { return slices.Contains(h.updated, features.Watched) }) == nil
		cancel()
		if ctx.Err() != nil {
			return errors.New("no update of the resource")
		}
	}
	return h.session.Unsubscribe(ctx, &sdk.UnsubscribeParams{URI: features.Watched})
}

func tryComplete(ctx context.Context, h *matrixHost, _, _ end) error {
	result, err := h.session.Complete(ctx, &sdk.CompleteParams{
		Ref:      &sdk.CompleteReference{Type: "ref/prompt", Name: h.prefix + features.Prompt},
		Argument: sdk.CompleteParamsArgument{Name: "mood", Value: "m"},
	})
	if err == nil && !slices.Equal(result.Completion.Values, []string{features.Completed}) {
		err = fmt.Errorf("completed with %q", result.Completion.Values)
	}
	return err
}

func tryError(ctx context.Context, h *matrixHost, _, _ end) error {
	_, err := h.call(ctx, "fail", nil, nil)
	var failure *jsonrpc.Error
	if !errors.As(err, &failure) || failure.Code != features.Failure {
		return fmt.Errorf("the error arrived as %v", err)
	}
	var data struct{ Why string }
	if err := json.Unmarshal(failure.Data, &data); err != nil || data.Why != "asked to" {
		return fmt.Errorf("the error's data arrived as %s", failure.Data)
	}
	return nil
}

func tryLarge(ctx context.Context, h *matrixHost, _, _ end) error {
	said, err := h.call(ctx, "large", nil, nil)
	if err == nil && (len(said) != features.Size || strings.Count(said, "0123456789abcdef") != features.Size/16) {
		err = fmt.Errorf("%d bytes arrived instead of %d", len(said), features.Size)
	}
	return err
}
