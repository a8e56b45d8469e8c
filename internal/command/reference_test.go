package command

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"callgate/docs"
	"callgate/internal/config"
	"callgate/internal/hooks"
)

// TestReference compares docs/reference.txt with the code that it is made from. `go test ./internal/command -run
// Reference -update` writes it.
func TestReference(t *testing.T) {
	root, _ := newRootCommand()
	var page strings.Builder
	page.WriteString("Made from code by go test ./internal/command -run Reference -update.\n")
	section := func(title string, lines []string) {
		fmt.Fprintf(&page, "\n%s\n\n", title)
		for _, line := range lines {
			page.WriteString("  " + strings.TrimRight(line, " ") + "\n")
		}
	}
	section("Configuration keys", keysOf("", reflect.TypeFor[config.Config]()))
	shared, lines := variables()
	section("Flags that stand in the configuration and the environment too", lines)
	section("Other flags", flagsOf(root, shared))
	section("Hook events", slices.Sorted(slices.Values(hooks.Events)))
	section("Frames of clients", frames(t, "client"))
	section("Frames of servers", frames(t, "server"))
	section("REST: method, path, credential, members of the request", routes(t))
	text := page.String()
	path := filepath.Join("..", "..", "docs", "reference.txt")
	if *updatePages {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if written, err := os.ReadFile(path); err != nil || string(written) != text {
		t.Errorf("%s is not what the code says (%v): run go test ./internal/command -run Reference -update", path, err)
	}
}

// keysOf returns the configuration's keys below one key, each with what it takes.
func keysOf(above string, of reflect.Type) (lines []string) {
	for _, f := range reflect.VisibleFields(of) {
		if !f.IsExported() || f.Anonymous || f.Tag.Get("mapstructure") == "-" {
			continue
		}
		key, kind, many := above+config.KeyOf(f.Name), f.Type, ""
		for kind.Kind() == reflect.Slice || kind.Kind() == reflect.Pointer {
			if kind.Kind() == reflect.Slice {
				many = "[]"
			}
			kind = kind.Elem()
		}
		switch {
		case kind == reflect.TypeFor[time.Duration]():
			lines = append(lines, fmt.Sprintf("%-40s duration", key+many))
		case kind.Kind() == reflect.Struct:
			lines = append(lines, keysOf(key+many+".", kind)...)
		default:
			lines = append(lines, fmt.Sprintf("%-40s %s", key+many, kind.Kind()))
		}
	}
	return lines
}

// variables returns the variables that stand for flags, and the names of these flags.
func variables() (flags map[string]bool, lines []string) {
	flags = map[string]bool{}
	s := config.NewSettings(pflag.NewFlagSet("callgate", pflag.ContinueOnError))
	for _, set := range []*pflag.FlagSet{s.Common, s.Policy, s.Search, s.Serve, s.Keep, s.Checks, s.Listen, s.Shared} {
		set.VisitAll(func(f *pflag.Flag) {
			if !flags[f.Name] {
				flags[f.Name], lines = true, append(lines, fmt.Sprintf("%-40s %s", "--"+f.Name, config.Variable(f.Name)))
			}
		})
	}
	slices.Sort(lines)
	return flags, lines
}

// flagsOf returns the flags of a command and of those below it, without the shared ones.
func flagsOf(cmd *cobra.Command, shared map[string]bool) (lines []string) {
	var names []string
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden && f.Name != "help" && !shared[f.Name] {
			names = append(names, "--"+f.Name)
		}
	})
	if len(names) > 0 {
		lines = append(lines, fmt.Sprintf("%-30s %s", cmd.CommandPath(), strings.Join(names, " ")))
	}
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() && sub.Name() != "help" {
			lines = append(lines, flagsOf(sub, shared)...)
		}
	}
	return lines
}

// frames returns the types of frames that one side sends.
func frames(t *testing.T, side string) (names []string) {
	var schema struct {
		Defs map[string]json.RawMessage `json:"$defs"`
	}
	if err := json.Unmarshal(docs.ProtocolSchema, &schema); err != nil {
		t.Fatal(err)
	}
	for _, ref := range regexp.MustCompile(`#/\$defs/([a-z_]+)`).FindAllStringSubmatch(string(schema.Defs[side]), -1) {
		names = append(names, ref[1])
	}
	return names
}

// routes returns the requests of the REST interface, each with its credential and the members of its body.
func routes(t *testing.T) (lines []string) {
	var schema struct {
		Rest []struct {
			Method, Path, Credential string
			Request                  struct {
				Ref string `json:"$ref"`
			}
		}
		Defs map[string]struct {
			Properties map[string]json.RawMessage
			Required   []string
		} `json:"$defs"`
	}
	if err := json.Unmarshal(docs.ProtocolSchema, &schema); err != nil {
		t.Fatal(err)
	}
	for _, r := range schema.Rest {
		body := schema.Defs[strings.TrimPrefix(r.Request.Ref, "#/$defs/")]
		members := slices.Sorted(maps.Keys(body.Properties))
		for i, name := range members {
			if !slices.Contains(body.Required, name) {
				members[i] += "?"
			}
		}
		lines = append(lines, fmt.Sprintf("%-6s %-34s %-8s %s", r.Method, r.Path, r.Credential, strings.Join(members, " ")))
	}
	return lines
}
