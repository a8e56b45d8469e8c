package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"callgate/internal/output"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"callgate/gate/tools"
	"callgate/internal/app"
	"callgate/internal/config"
	"callgate/internal/rulebook"
	"callgate/internal/upstream"
	"callgate/permissions"
	"callgate/proxy"
)

func newToolsCommand(s *config.Settings) *cobra.Command {
	var asJSON bool
	var wait time.Duration
	cmd := &cobra.Command{
		Use:   "tools",
		Short: "List the tools of each server, and what the rules say about each",
		Long: `Tools starts every configured server, lists its tools as hosts see them, and shows what the rules say about a call of
each. A kind marked with ? is a guess: it can tighten, but never allow.

EFFECT comes from the catalogue of known servers: none, own (changes what is yours), outside (others see it), money,
deletes, access; in brackets, what the results hold. callgate caches the lists, so the next host need not wait for the
servers.`,
		Example: `  callgate tools --mcp-config ~/.mcp.json
  callgate tools --json | jq -r '.tools[] | select(.verdict == "ask") | .tool'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := s.Load()
			if err != nil {
				return err
			}
			servers, err := c.ProxyServers()
			if err != nil {
				return err
			}
			checker, err := newChecker(c)
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeoutCause(cmd.Context(), wait, fmt.Errorf("it did not answer within %s (--wait)", wait))
			defer cancel()
			rows, walls, failures := listTools(ctx, c, checker, servers)
			if asJSON {
				err = json.MarshalWrite(cmd.OutOrStdout(), map[string]any{"tools": rows, "guard": walls, "down": failures}, json.Deterministic(true), jsontext.Multiline(true))
			} else {
				err = output.Tools(cmd.OutOrStdout(), rows, walls, failures)
			}
			if err == nil && len(failures) > 0 {
				return exitCode(1)
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.PersistentFlags().DurationVar(&wait, "wait", time.Minute, "how long a server may take to start")
	cmd.AddCommand(newAcceptCommand(s, &wait), newLabelCommand(s, &wait))
	return cmd
}

func newAcceptCommand(s *config.Settings, wait *time.Duration) *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "accept TOOL... | --all",
		Short: "Accept the current definitions of tools",
		Long: `Accept ends the quarantine of a tool whose definition changed or looks like an attack. It starts the configured
servers, shows what is new about each tool, and pins the definitions. A running host uses them from its next call on.`,
		Example: `  callgate tools accept github_create_issue
  callgate tools accept --all`,
		Args: func(_ *cobra.Command, args []string) error {
			if all == (len(args) > 0) {
				return errors.New("name the tools to accept, as callgate tools lists them, or give --all")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := s.Load()
			if err != nil {
				return err
			}
			servers, err := c.ProxyServers()
			if err != nil {
				return err
			}
			pins, err := tools.OpenPins(c.PinsFile())
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), *wait)
			defer cancel()
			return acceptTools(ctx, cmd.OutOrStdout(), c, servers, pins, args)
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "accept every tool of every server")
	return cmd
}

// acceptTools pins the named tools' definitions, all of them when none is named, and prints what was new.
func acceptTools(ctx context.Context, w io.Writer, c *config.Config, servers []proxy.Server, pins *tools.Pins, names []string) error {
	var offered []proxy.Offered
	for _, s := range servers {
		more, _, err := proxy.Survey(ctx, s, c.CacheDir(), app.Version)
		if err != nil {
			return fmt.Errorf("server %s: %w", s.Tools.Name, err)
		}
		offered = append(offered, more...)
	}
	described := proxy.Name(offered)
	for _, name := range names {
		if !slices.ContainsFunc(described, func(t *tools.Tool) bool { return t.Qualified == name }) {
			return fmt.Errorf("no tool is called %q: callgate tools lists them", name)
		}
	}
	accepted := map[string]map[string][]byte{}
	n := 0
	for i, t := range described {
		if len(names) > 0 && !slices.Contains(names, t.Qualified) {
			continue
		}
		identity := offered[i].Identity()
		known, changed, old, err := pins.Check(identity, t.Name, t.Hash)
		if err != nil {
			return err
		}
		if known && !changed {
			continue
		}
		fmt.Fprintf(w, "%s\n", t.Qualified)
		if changed {
			fmt.Fprintf(w, "  was  %s\n", tools.Visible(string(old)))
		}
		fmt.Fprintf(w, "  now  %s\n", tools.Visible(string(t.Definition)))
		if accepted[identity] == nil {
			accepted[identity] = map[string][]byte{}
		}
		accepted[identity][t.Name] = t.Definition
		n++
	}
	for identity, definitions := range accepted {
		if err := pins.Accept(identity, definitions); err != nil {
			return err
		}
	}
	word := "definitions"
	if n == 1 {
		word = "definition"
	}
	_, err := fmt.Fprintf(w, "%d %s accepted\n", n, word)
	return err
}

// listTools asks every server, all at once. Servers that do not answer are told apart from those that do. walls are what
// keeps the process of each from callgate.
func listTools(ctx context.Context, c *config.Config, checker *rulebook.Checker, servers []proxy.Server) (rows []output.Tool, walls, failures map[string]string) {
	catalogues := make([][]proxy.Offered, len(servers))
	walls, failures = map[string]string{}, map[string]string{}
	var mu sync.Mutex
	var asking sync.WaitGroup
	for i, s := range servers {
		asking.Go(func() {
			offered, wall, err := proxy.Survey(ctx, s, c.CacheDir(), app.Version)
			if err != nil {
				if errors.Is(err, context.DeadlineExceeded) {
					err = context.Cause(ctx)
				}
				why := err.Error()
				if down, ok := errors.AsType[*upstream.DownError](err); ok {
					why = down.Explain()
				}
				mu.Lock()
				failures[s.Tools.Name] = why
				mu.Unlock()
			}
			if wall != "" {
				mu.Lock()
				walls[s.Tools.Name] = wall
				mu.Unlock()
			}
			catalogues[i] = offered
		})
	}
	asking.Wait()
	rows = []output.Tool{}
	for _, o := range proxy.Name(slices.Concat(catalogues...)) {
		rows = append(rows, rowOf(checker, o))
	}
	return rows, walls, failures
}

// rowOf says what the rules make of a tool that is called with values that no pattern is about.
func rowOf(ch *rulebook.Checker, t *tools.Tool) output.Tool {
	row := output.Tool{Tool: t.Qualified, Server: t.Server, Name: t.Name, Kind: t.Kind, Bound: t.Bound, Why: t.Why, Subjects: app.Judged(t)}
	if labels := t.Labels; labels.Effect != "" || len(labels.Returns) > 0 {
		row.Labels = &labels
	}
	policy, err := ch.Policy()
	if err != nil {
		row.Verdict, row.Rule = permissions.Deny.String(), err.Error()
		return row
	}
	o := app.OutlookOf(policy, t, ch.Judge.Mode, ch.Judge.Autonomy.String())
	row.Verdict, row.Rule, row.Patterns = o.Verdict, o.Rule, o.Patterns
	return row
}
