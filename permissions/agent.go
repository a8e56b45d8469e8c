package permissions

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Agent is a subagent profile: a name and rules for everything that runs under it. Its denies are final.
type Agent struct {
	Name        string
	Description string
	Rules       []Rule // in file order
	Source      string // where it was read, or "built in"
	Text        string // the text of the rules, if ParseProfile read them
}

// ParseProfile returns an agent with rules written as in a permissions file. If text is "", it has none.
func ParseProfile(name, source, text string) (Agent, error) {
	a := Agent{Name: name, Source: source, Text: text}
	if text == "" {
		return a, nil
	}
	file, err := ParseFile(source, []byte(text), "")
	if err != nil {
		return a, err
	}
	if len(file.Grants) > 0 {
		return a, errors.New("an agent has no grants")
	}
	for i := range file.Rules {
		file.Rules[i].Layer = LayerAgent
	}
	a.Rules = file.Rules
	return a, nil
}

// BuiltinAgents returns the profiles that exist without a file.
func BuiltinAgents() []Agent {
	return []Agent{
		{
			Name: "explore", Source: "built in",
			Description: "Looks at files and searches them; changes and runs nothing.",
			Rules: builtinRules("explore",
				"*", Deny, "read_file", Allow, "glob", Allow, "grep", Allow, "resource_read", Allow, "prompt_get", Allow),
		},
		{
			Name: "general", Source: "built in",
			Description: "Does what the worker's rules let it do.",
		},
	}
}

// builtinRules returns rules for every value, from pairs of a tool and an action.
func builtinRules(name string, pairs ...any) (rules []Rule) {
	for i := 0; i < len(pairs); i += 2 {
		rules = append(rules, Rule{
			Tool: pairs[i].(string), Pattern: "*", Action: pairs[i+1].(Action), Layer: LayerAgent, Source: "agent " + name,
		})
	}
	return rules
}

// ParseAgent reads a profile from a Markdown file. Its front matter has a name and rules as in a permissions file:
//
//	---
//	name: reviewer
//	description: Reads and comments
//	permissions:
//	  "*": deny
//	  read_file: { "*": allow, "*.env": deny }
//	---
//	Text for the model, which callgate does not read.
//
// ParseAgent ignores other members of the front matter, which belong to hosts. home replaces ~ in patterns. A profile
// without permissions is an error, because it would look like a limit and limit nothing.
func ParseAgent(path string, data []byte, home string) (Agent, error) {
	front, offset, err := frontMatter(data)
	if err != nil {
		return Agent{}, fmt.Errorf("%s: %w", path, err)
	}
	var head struct {
		Name        string    `yaml:"name"`
		Description string    `yaml:"description"`
		Permissions yaml.Node `yaml:"permissions"`
	}
	if err := yaml.Unmarshal(front, &head); err != nil {
		return Agent{}, fmt.Errorf("%s: front matter: %w", path, err)
	}
	p := agentParser{path: path, offset: offset, home: home}
	switch {
	case head.Name == "":
		return Agent{}, fmt.Errorf("%s: the front matter has no name", path)
	case head.Permissions.Kind != yaml.MappingNode:
		return Agent{}, fmt.Errorf("%s: the front matter has no permissions: write at least permissions: {\"*\": ask}", path)
	}
	rules, err := p.tools(&head.Permissions)
	if err != nil {
		return Agent{}, err
	}
	return Agent{Name: head.Name, Description: head.Description, Rules: rules, Source: path}, nil
}

// frontMatter returns the YAML between the first two lines of dashes, and the number of lines before it.
func frontMatter(data []byte) (yaml []byte, offset int, err error) {
	data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	rest, ok := bytes.CutPrefix(data, []byte("---\n"))
	if !ok {
		return nil, 0, errors.New("it does not begin with front matter: a line of three dashes")
	}
	front, _, ok := bytes.Cut(rest, []byte("\n---"))
	if !ok {
		return nil, 0, errors.New("its front matter does not end: a second line of three dashes is missing")
	}
	return front, 1, nil
}

// agentParser reads the permissions of one profile, in file order.
type agentParser struct {
	path   string
	offset int
	home   string
}

func (p *agentParser) source(n *yaml.Node) string {
	return fmt.Sprintf("%s:%d", p.path, n.Line+p.offset)
}

func (p *agentParser) tools(object *yaml.Node) (rules []Rule, err error) {
	err = p.members(object, func(tool string, value *yaml.Node) error {
		if strings.HasPrefix(tool, "$") {
			return fmt.Errorf("%s: %q: keys that begin with $ are callgate's own", p.source(value), tool)
		}
		if value.Kind == yaml.ScalarNode {
			return p.rule(&rules, tool, "*", value)
		}
		return p.members(value, func(pattern string, action *yaml.Node) error { return p.rule(&rules, tool, pattern, action) })
	})
	return rules, err
}

// members calls visit for each member of an object. A name that occurs twice is an error.
func (p *agentParser) members(object *yaml.Node, visit func(string, *yaml.Node) error) error {
	if object.Kind != yaml.MappingNode {
		return fmt.Errorf("%s: neither an action nor an object of pattern: action", p.source(object))
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(object.Content); i += 2 {
		key := object.Content[i]
		if key.Kind != yaml.ScalarNode || seen[key.Value] {
			return fmt.Errorf("%s: %q appears twice, or is not a name: the order of rules counts, so each can appear once", p.source(key), key.Value)
		}
		seen[key.Value] = true
		if err := visit(key.Value, object.Content[i+1]); err != nil {
			return err
		}
	}
	return nil
}

func (p *agentParser) rule(rules *[]Rule, tool, pattern string, action *yaml.Node) error {
	if action.Kind != yaml.ScalarNode {
		return fmt.Errorf("%s: not an action: use allow, ask, confirm or deny", p.source(action))
	}
	a, err := ParseAction(action.Value)
	if err != nil {
		return fmt.Errorf("%s: %w", p.source(action), err)
	}
	if pattern, err = ExpandHome(pattern, p.home); err != nil {
		return fmt.Errorf("%s: %w", p.source(action), err)
	}
	r := Rule{Tool: tool, Pattern: pattern, Action: a, Layer: LayerAgent, Source: p.source(action)}
	if err := r.compile(LayerAgent); err != nil {
		return err
	}
	*rules = append(*rules, r)
	return nil
}

// Tightened returns the profile with every allow turned into an ask. It is for profiles that come with a repository,
// because anybody may have written them.
func (a Agent) Tightened() Agent {
	rules := make([]Rule, len(a.Rules))
	for i, r := range a.Rules {
		r.Action = r.Action.Stricter(Ask)
		rules[i] = r
	}
	a.Rules = rules
	return a
}
