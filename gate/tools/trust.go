package tools

import (
	"bytes"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// trustHints are what MCP's proposals have servers say of the data that a tool returns: SEP-1913, SEP-1560, SEP-1561. A
// definition has them in its annotations, a result there or in _meta, for all of it or for a part.
type trustHints struct {
	Private   bool           `json:"privateHint"`
	Secret    bool           `json:"secretHint"`
	Sensitive jsontext.Value `json:"sensitiveHint"` // "low", "medium", "high", or true
	OpenWorld bool           `json:"openWorldHint"`
	Unsafe    bool           `json:"unsafeOutputHint"`
	Malicious bool           `json:"maliciousActivityHint"`
}

// returns are the labels that the hints add. openWorldHint is not among them: of a definition it says where a tool
// works.
func (h *trustHints) returns() (list []string) {
	sensitive := string(bytes.Trim(h.Sensitive, `" `))
	if h.Private || sensitive == "medium" {
		list = append(list, ReturnsPrivate)
	}
	if h.Secret || sensitive == "high" || sensitive == "true" {
		list = append(list, ReturnsSecret)
	}
	if h.Unsafe || h.Malicious {
		list = append(list, ReturnsUntrusted)
	}
	return list
}

// claimed are the labels that the annotations of a definition add.
func claimed(definition []byte) []string {
	if !bytes.Contains(definition, []byte(`Hint"`)) {
		return nil
	}
	var d struct {
		Annotations trustHints `json:"annotations"`
	}
	_ = json.Unmarshal(definition, &d, jsontext.AllowDuplicateNames(true)) // what can be read of it counts
	return d.Annotations.returns()
}

// HintsOf says what a raw result claims of itself: labels as in Labels.Returns. It can add to what is known of a tool's
// results, and takes nothing away.
func HintsOf(result []byte) (returns []string) {
	if !bytes.Contains(result, []byte(`Hint"`)) {
		return nil
	}
	type part struct {
		Annotations trustHints `json:"annotations"`
		Meta        trustHints `json:"_meta"`
	}
	var all part
	var within struct {
		Content []part `json:"content"`
	}
	_ = json.Unmarshal(result, &all, jsontext.AllowDuplicateNames(true))
	_ = json.Unmarshal(result, &within, jsontext.AllowDuplicateNames(true))
	for _, p := range append(within.Content, all) {
		for _, h := range []trustHints{p.Annotations, p.Meta} {
			h.Unsafe = h.Unsafe || h.OpenWorld
			returns = append(returns, h.returns()...)
		}
	}
	return returns
}
