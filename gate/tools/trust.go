package tools

import (
	"bytes"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// trustHints are the hints by which servers describe the data that a tool returns, as MCP's proposals SEP-1913,
// SEP-1560 and SEP-1561 have them. A definition has them in its annotations. A result has them there or in _meta, for
// all of it or for a part.
type trustHints struct {
	Private   bool           `json:"privateHint"`
	Secret    bool           `json:"secretHint"`
	Sensitive jsontext.Value `json:"sensitiveHint"` // "low", "medium", "high", or true
	OpenWorld bool           `json:"openWorldHint"`
	Unsafe    bool           `json:"unsafeOutputHint"`
	Malicious bool           `json:"maliciousActivityHint"`
}

// returns returns the labels that the hints add. openWorldHint adds none: in a definition it says where a tool works.
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

// claimed returns the labels that the annotations of a definition add.
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

// HintsOf returns the labels that a raw result claims for itself, as in Labels.Returns. They can add to what is known
// of a tool's results, and take nothing away.
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
