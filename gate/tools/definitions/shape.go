package definitions

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Shape returns a short hash of the arguments that a tool's definition names, nested ones included, and of their types.
// Descriptions, allowed values and required arguments do not count. It returns "" for a definition that cannot be read.
func Shape(definition []byte) string {
	var d struct {
		InputSchema jsontext.Value `json:"inputSchema"`
	}
	var schema any
	if json.Unmarshal(definition, &d) != nil || json.Unmarshal(d.InputSchema, &schema) != nil {
		return ""
	}
	lines := shapeOf("", schema, nil)
	slices.Sort(lines)
	sum := sha256.Sum256([]byte(strings.Join(lines, "\n")))
	return hex.EncodeToString(sum[:6])
}

// shapeOf adds a line for each property of a schema and of the schemas within it.
func shapeOf(place string, schema any, lines []string) []string {
	switch s := schema.(type) {
	case map[string]any:
		for _, keyword := range slices.Sorted(maps.Keys(s)) {
			switch keyword {
			case "properties", "$defs", "definitions", "patternProperties":
				within, _ := s[keyword].(map[string]any)
				for name, property := range within {
					kind := ""
					if p, ok := property.(map[string]any); ok {
						text, _ := json.Marshal(p["type"])
						kind = string(text)
					}
					at := place + "." + name
					lines = shapeOf(at, property, append(lines, at+" "+kind))
				}
			case "items", "prefixItems", "anyOf", "oneOf", "allOf", "additionalProperties", "then", "else":
				lines = shapeOf(place+"/"+keyword, s[keyword], lines)
			}
		}
	case []any:
		for _, each := range s {
			lines = shapeOf(place, each, lines)
		}
	}
	return lines
}
