package tools

import (
	"strings"
	"testing"

	"callgate/gate/tools/definitions"
)

const shaped = `{"name":"find","inputSchema":{"type":"object","properties":{"database":{"type":"string"},"filter":{"type":"object","properties":{"limit":{"type":"number"}}}},"required":["database"]}}`

// The shape changes with names and types of arguments, and with nothing else.
func TestShape(t *testing.T) {
	same := []string{
		strings.Replace(shaped, `"name":"find"`, `"name":"find","description":"Finds."`, 1),
		strings.Replace(shaped, `"required":["database"]`, `"required":[]`, 1),
		strings.Replace(shaped, `"type":"number"`, `"type":"number","description":"how many","default":7`, 1),
		`{"inputSchema":{"properties":{"filter":{"properties":{"limit":{"type":"number"}},"type":"object"},"database":{"type":"string"}}}}`,
	}
	for _, d := range same {
		if definitions.Shape([]byte(d)) != definitions.Shape([]byte(shaped)) {
			t.Errorf("another shape: %s", d)
		}
	}
	for _, d := range []string{
		strings.Replace(shaped, `"database":`, `"db":`, 1),
		strings.Replace(shaped, `"limit":`, `"count":`, 1),
		strings.Replace(shaped, `"number"`, `"string"`, 1),
		strings.Replace(shaped, `"database":{"type":"string"}`, `"database":{"type":"string"},"bcc":{"type":"string"}`, 1),
		strings.Replace(shaped, `"database":{"type":"string"}`, `"database":{"anyOf":[{"type":"string"},{"type":"object","properties":{"bcc":{"type":"string"}}}]}`, 1),
	} {
		if got := definitions.Shape([]byte(d)); got == "" || got == definitions.Shape([]byte(shaped)) {
			t.Errorf("the same shape: %s", d)
		}
	}
	for _, d := range []string{``, `{`, `{"name":"x"}`, `{"inputSchema":{"properties":{"a":{},"a":{}}}}`} {
		if got := definitions.Shape([]byte(d)); got != "" {
			t.Errorf("%s has the shape %s", d, got)
		}
	}
}

// Labels hold for the arguments that were labelled. A tool that has changed has no labels, says so, and is suspected of
// what its labels said.
func TestLabelsThatAToolOutgrew(t *testing.T) {
	e, from, ok := lookUp(Server{Packages: []string{"vercel-mcp@0.0.7"}}, "deleteDeployment")
	if !ok || from != "vercel-mcp" || len(e.shapes) == 0 {
		t.Fatalf("%+v %s", e, from)
	}
	s := Server{Name: "v", Packages: []string{"vercel-mcp"}}
	known := `{"name":"deleteDeployment","inputSchema":{"properties":{"deploymentId":{"type":"string"}EXTRA}}}`
	tool := Describe(s, "deleteDeployment", "v_deleteDeployment", []byte(strings.Replace(known, "EXTRA", `,"notify":{"type":"string"}`, 1)))
	if l, _ := tool.Suspected(); tool.Bound || !tool.Outgrown || l.Effect != EffectDeletes || !strings.Contains(tool.Why, "callgate tools label v") {
		t.Errorf("%+v", tool)
	}
	if tool := Describe(s, "deleteDeployment", "v_deleteDeployment", nil); !tool.Bound || tool.Outgrown {
		t.Errorf("without a definition: %+v", tool)
	}
}
