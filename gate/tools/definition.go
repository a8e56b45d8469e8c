package tools

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"callgate/gate/tools/internal/arguments"
)

// hint is an annotation of a tool's definition: absent, true or false.
type hint uint8

const (
	absent hint = iota
	yes
	no
)

func hintOf(b *bool) hint {
	switch {
	case b == nil:
		return absent
	case *b:
		return yes
	}
	return no
}

// hints are the annotations that concern risk.
type hints struct{ readOnly, destructive, openWorld hint }

// definition is what an upstream says of a tool, as far as it concerns the gate. All of it is a claim.
type definition struct {
	description string
	arguments   []string            // names, in the schema's order
	enums       map[string][]string // by argument: the only values that the schema allows
	hints       hints
	returns     []string // labels that it claims for its results, as in Labels.Returns
}

// parseDefinition parses what it can of a raw definition. The rest stays unknown, and unknown is judged strictest.
func parseDefinition(raw []byte) (d definition) {
	if len(raw) == 0 {
		return d
	}
	var in struct {
		Description string         `json:"description"`
		InputSchema jsontext.Value `json:"inputSchema"`
		Annotations struct {
			ReadOnly    *bool `json:"readOnlyHint"`
			Destructive *bool `json:"destructiveHint"`
			Idempotent  *bool `json:"idempotentHint"`
			OpenWorld   *bool `json:"openWorldHint"`
		} `json:"annotations"`
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		return d
	}
	d.description, d.returns = in.Description, claimed(raw)
	d.hints = hints{hintOf(in.Annotations.ReadOnly), hintOf(in.Annotations.Destructive), hintOf(in.Annotations.OpenWorld)}
	if d.hints == (hints{no, yes, yes}) && hintOf(in.Annotations.Idempotent) == no {
		d.hints = hints{} // MCP's defaults, which libraries fill in: they say nothing about this tool
	}
	schema, ok := arguments.Members(in.InputSchema)
	if !ok {
		return d
	}
	for _, m := range schema {
		if m.Name != "properties" {
			continue
		}
		properties, _ := arguments.Members(m.Value)
		for _, p := range properties {
			d.arguments = append(d.arguments, p.Name)
			if enum := enumOf(p.Value); enum != nil {
				if d.enums == nil {
					d.enums = map[string][]string{}
				}
				d.enums[p.Name] = enum
			}
		}
	}
	return d
}

// Description returns what the tool's server says about it, or "" if it says nothing that can be read. It is a claim.
func (t *Tool) Description() string { return parseDefinition(t.Definition).description }

// enumOf returns the values that a schema allows, if all of them are strings.
func enumOf(schema []byte) []string {
	var in struct {
		Enum []string `json:"enum"`
	}
	if err := json.Unmarshal(schema, &in); err != nil {
		return nil
	}
	return in.Enum
}
