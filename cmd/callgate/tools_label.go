package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"callgate/gate/tools"
	"callgate/internal/app"
	"callgate/internal/config"
	"callgate/proxy"
)

func newLabelCommand(s *config.Settings, wait *time.Duration) *cobra.Command {
	return &cobra.Command{
		Use:   "label SERVER",
		Short: "Draft labels for the tools of a server that callgate does not know",
		Long: `Label starts the server and drafts labels from names, schemas and annotations: what each tool returns, what it does,
and which arguments name a destination. The draft has no effect until you correct it and put it into callgate.yaml
(docs/flow.md). Labelled tools are left out.`,
		Example: `  callgate tools label bank
  callgate tools label bank >> callgate.yaml   # then correct it`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := s.Load()
			if err != nil {
				return err
			}
			servers, err := c.ProxyServers()
			if err != nil {
				return err
			}
			i := slices.IndexFunc(servers, func(s proxy.Server) bool { return s.Tools.Name == args[0] })
			if i < 0 {
				var names []string
				for _, s := range servers {
					names = append(names, s.Tools.Name)
				}
				return fmt.Errorf("no server is called %q: use one of %s", args[0], strings.Join(names, ", "))
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), *wait)
			defer cancel()
			offered, _, err := proxy.Survey(ctx, servers[i], c.CacheDir(), app.Version)
			if err != nil {
				return fmt.Errorf("server %s: %w", args[0], err)
			}
			return printDraft(cmd.OutOrStdout(), args[0], proxy.Name(offered))
		},
	}
}

// printDraft writes the labels of tools that have none as YAML.
func printDraft(w io.Writer, server string, list []*tools.Tool) error {
	list = slices.DeleteFunc(slices.Clone(list), labelled)
	if len(list) == 0 {
		_, err := fmt.Fprintf(w, "# Every tool of %s is labelled.\n", server)
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# A draft from names, schemas and annotations: correct it before you use it.\n")
	fmt.Fprintf(&b, "# effect: none, own, outside, money, deletes, access. returns: private, untrusted, secret, public.\n")
	fmt.Fprintf(&b, "servers:\n  - name: %s\n    tools:\n", quoteYAML(server))
	for _, t := range list {
		l := t.Draft()
		fmt.Fprintf(&b, "      - name: %s\n        effect: %s\n", quoteYAML(t.Name), l.Effect)
		for _, row := range []struct {
			key    string
			values []string
		}{{"returns", l.Returns}, {"destination", l.Destination}, {"content", l.Content}} {
			if len(row.values) == 0 {
				continue
			}
			quoted := make([]string, len(row.values))
			for i, v := range row.values {
				quoted[i] = quoteYAML(v)
			}
			fmt.Fprintf(&b, "        %s: [%s]\n", row.key, strings.Join(quoted, ", "))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// quoteYAML quotes a text that YAML would not read as it is.
func quoteYAML(s string) string {
	if s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.") == "" && strings.ContainsFunc(s, func(r rune) bool { return r > '9' }) {
		switch strings.ToLower(s) {
		case "true", "false", "null", "yes", "no", "on", "off", "y", "n":
		default:
			return s
		}
	}
	return fmt.Sprintf("%q", s)
}

// labelled reports whether it is known what the tool does.
func labelled(t *tools.Tool) bool { return t.Labels.Effect != "" || t.Bound && t.Kind != "" }

// coverage says how many tools are labelled, and which servers have others.
func coverage(rows []toolRow) string {
	missing, n := []string{}, 0
	for _, r := range rows {
		switch {
		case r.Labels != nil && r.Labels.Effect != "" || r.Bound && r.Kind != "":
			n++
		case !slices.Contains(missing, r.Server):
			missing = append(missing, r.Server)
		}
	}
	text := fmt.Sprintf("%d of %d tools are labelled.", n, len(rows))
	if len(missing) > 0 {
		text += " Others: callgate tools label " + strings.Join(missing, " | ") + "."
	}
	return text
}
