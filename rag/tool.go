package rag

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// ToolDocument returns a document for a tool's definition, so that search finds tools by what they do. id is the
// qualified name that the host knows. A schema that is not JSON adds nothing.
func ToolDocument(id, server, name, description string, schema []byte) Document {
	var text strings.Builder
	text.WriteString(name + "\n" + description + "\n")
	var parsed any
	if json.Unmarshal(schema, &parsed) == nil {
		describe(&text, parsed, 0)
	}
	words := text.String()
	return Document{
		ID: id, Kind: KindTool, Language: "text", Title: name, Text: words[:min(len(words), maxDefinition)],
		Metadata: map[string]string{"server": server, "name": name},
	}
}

const (
	// maxDefinition bounds the text of a tool's definition, in bytes. The rest is ignored.
	maxDefinition = 16 << 10
	// maxSchemaDepth bounds how deeply a schema is read.
	maxSchemaDepth = 8
)

// describe writes the names and descriptions of a schema's properties, and its enum values.
func describe(w *strings.Builder, schema any, depth int) {
	if depth > maxSchemaDepth || w.Len() > maxDefinition {
		return
	}
	switch schema := schema.(type) {
	case []any:
		for _, s := range schema {
			describe(w, s, depth+1)
		}
	case map[string]any:
		if text, ok := schema["description"].(string); ok && depth > 0 {
			w.WriteString(text + "\n")
		}
		if properties, ok := schema["properties"].(map[string]any); ok {
			for _, name := range slices.Sorted(maps.Keys(properties)) {
				w.WriteString(name + " ")
				describe(w, properties[name], depth+1)
			}
		}
		for _, member := range []string{"items", "anyOf", "oneOf", "allOf", "enum"} {
			describe(w, schema[member], depth+1)
		}
	case string: // of an enum
		w.WriteString(schema + " ")
	}
}
