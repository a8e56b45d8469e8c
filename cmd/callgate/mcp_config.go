package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"callgate/proxy"
)

// mcpServer is one entry of an ecosystem file. Other members are a host's business and are ignored.
type mcpServer struct {
	Type     string            `json:"type"`
	Command  string            `json:"command"`
	Args     []string          `json:"args"`
	Env      map[string]string `json:"env"`
	Cwd      string            `json:"cwd"`
	URL      string            `json:"url"`
	Headers  map[string]string `json:"headers"`
	Disabled bool              `json:"disabled"`
	// Not a host's, but of files that "callgate connect" makes.
	AllowTools []string `json:"allowTools"`
	HideTools  []string `json:"hideTools"`
}

// readMCPConfig reads the mcpServers of a file in the order in which they stand there. Keys are taken as
// they are spelled, and a name twice is an error.
func readMCPConfig(path string) ([]serverConfig, error) {
	text, err := os.ReadFile(expandHome(path))
	if err != nil {
		return nil, fmt.Errorf("mcpConfig: %w", err)
	}
	var file struct {
		Servers jsontext.Value `json:"mcpServers"`
	}
	if err := json.Unmarshal(text, &file); err != nil {
		return nil, fmt.Errorf("%s: %w", placeOf(path, text, err), err)
	}
	if file.Servers == nil {
		return nil, fmt.Errorf(`%s: it has no "mcpServers"`, path)
	}
	var byName map[string]mcpServer
	if err := json.Unmarshal(file.Servers, &byName); err != nil {
		return nil, fmt.Errorf("%s: mcpServers: %w", path, err)
	}
	names, err := memberNames(file.Servers)
	if err != nil {
		return nil, fmt.Errorf("%s: mcpServers: %w", path, err)
	}
	var servers []serverConfig
	for _, name := range names {
		s := byName[name]
		enabled := !s.Disabled
		servers = append(servers, serverConfig{
			Name: proxy.Sanitize(name), Type: s.Type, Command: s.Command, Args: s.Args, Cwd: s.Cwd, URL: s.URL, Enabled: &enabled,
			Env: pairs(s.Env, "="), Headers: pairs(s.Headers, ": "), AllowTools: s.AllowTools, HideTools: s.HideTools, source: fmt.Sprintf("%s: mcpServers.%s", path, name),
		})
	}
	return servers, nil
}

// placeOf is the path with the line and column that a syntax error is at.
func placeOf(path string, text []byte, err error) string {
	var syntax *jsontext.SyntacticError
	if !errors.As(err, &syntax) || syntax.ByteOffset > int64(len(text)) {
		return path
	}
	before := text[:syntax.ByteOffset]
	return fmt.Sprintf("%s:%d:%d", path, 1+bytes.Count(before, []byte("\n")), len(before)-bytes.LastIndexByte(before, '\n'))
}

// memberNames returns the names of an object's members in their order.
func memberNames(object []byte) (names []string, err error) {
	dec := jsontext.NewDecoder(strings.NewReader(string(object)))
	if _, err := dec.ReadToken(); err != nil {
		return nil, err
	}
	for dec.PeekKind() == '"' {
		name, err := dec.ReadToken()
		if err != nil {
			return nil, err
		}
		names = append(names, name.String())
		if err := dec.SkipValue(); err != nil {
			return nil, err
		}
	}
	return names, nil
}

func pairs(m map[string]string, separator string) []string {
	list := make([]string, 0, len(m))
	for name, value := range m {
		list = append(list, name+separator+value)
	}
	slices.Sort(list)
	return list
}
