package companion

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"callgate/docs"
	"callgate/internal/companion/wire"
)

// These tests check every frame that the server or the Go client makes in this package's tests, and every REST body,
// against docs/protocol.schema.json. They are stricter than the schema: an unlisted member is a violation too, so that
// nothing undocumented is sent.

// violations collects violations, with an example of each.
var violations struct {
	sync.Mutex
	found map[string]string
}

func violated(what string, text []byte) {
	violations.Lock()
	defer violations.Unlock()
	if violations.found == nil {
		violations.found = map[string]string{}
	}
	violations.found[what] = string(text)
}

func TestMain(m *testing.M) {
	wire.Encoded = checkFrame
	code := m.Run()
	for what, text := range violations.found {
		fmt.Fprintf(os.Stderr, "not as docs/protocol.schema.json says: %s\nin %.2000s\n", what, text)
		code = 1
	}
	os.Exit(code)
}

// protocol returns the definitions of the schema, with every object closed and dates checked.
var protocol = sync.OnceValue(func() map[string]*jsonschema.Schema {
	var schema any
	if err := json.Unmarshal(docs.ProtocolSchema, &schema); err != nil {
		panic(err)
	}
	tighten(schema)
	text, err := json.Marshal(schema)
	if err != nil {
		panic(err)
	}
	var strict jsonschema.Schema
	if err := json.Unmarshal(text, &strict); err != nil {
		panic(err)
	}
	return strict.Defs
})

// formats maps the schema's formats to patterns.
var formats = map[string]string{"date": `^\d{4}-\d\d-\d\d$`, "date-time": `^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$`}

// tighten closes every object except parts of others, and gives each format its pattern.
func tighten(node any) {
	parts := []string{"frame", "answer", "agent", "turn"}
	switch n := node.(type) {
	case map[string]any:
		if format, ok := n["format"].(string); ok {
			n["pattern"] = formats[format]
		}
		for key, child := range n {
			object, ok := child.(map[string]any)
			if _, hasProperties := object["properties"]; ok && hasProperties && !slices.Contains(parts, key) {
				object["unevaluatedProperties"] = false
			}
			tighten(child)
		}
		if items, ok := n["items"].(map[string]any); ok && items["properties"] != nil {
			items["unevaluatedProperties"] = false
		}
	case []any:
		for _, child := range n {
			tighten(child)
		}
	}
}

var definitions sync.Map // name → function that returns the *jsonschema.Resolved

// check validates text against a definition of the schema.
func check(definition string, text []byte) error {
	once, _ := definitions.LoadOrStore(definition, sync.OnceValues(func() (*jsonschema.Resolved, error) {
		return (&jsonschema.Schema{Ref: "#/$defs/" + definition, Defs: protocol()}).Resolve(nil)
	}))
	schema, err := once.(func() (*jsonschema.Resolved, error))()
	if err != nil {
		return err
	}
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		return err
	}
	return schema.Validate(value)
}

// checkFrame validates a frame and ignores any other text: REST bodies are checked where they are read.
func checkFrame(text []byte) {
	var head struct {
		V    *int
		Type *string
	}
	if err := json.Unmarshal(text, &head); err != nil || head.V == nil || head.Type == nil {
		return
	}
	if err := check(*head.Type, text); err != nil {
		violated(fmt.Sprintf("frame %s: %v", *head.Type, err), text)
	}
}

// endpoint is one entry in the schema's list of REST endpoints.
type endpoint struct {
	Method, Path, Credential string
	Request, Response        *struct {
		Ref string `json:"$ref"`
	}
}

var endpoints = sync.OnceValue(func() (list []endpoint) {
	var schema struct{ Rest []endpoint }
	if err := json.Unmarshal(docs.ProtocolSchema, &schema); err != nil {
		panic(err)
	}
	return schema.Rest
})

var parameter = regexp.MustCompile(`\{[a-z]+\}`)

func (e endpoint) is(method, path string) bool {
	pattern := "^" + parameter.ReplaceAllString(e.Path, `[^/]+`) + "$"
	return e.Method == method && regexp.MustCompile(pattern).MatchString(path)
}

// checkREST validates the bodies of one exchange.
func checkREST(method, path, request string, response *http.Response, body string) {
	path, _, _ = strings.Cut(path, "?")
	if !strings.HasPrefix(response.Header.Get("Content-Type"), "application/json") || method == http.MethodHead {
		return
	}
	at := slices.IndexFunc(endpoints(), func(e endpoint) bool { return e.is(method, path) })
	verify := func(definition, text string) {
		definition = strings.TrimPrefix(definition, "#/$defs/")
		if err := check(definition, []byte(text)); err != nil {
			violated(fmt.Sprintf("%s %s: %s: %v", method, path, definition, err), []byte(text))
		}
	}
	switch {
	case response.StatusCode >= 300 && (!strings.HasPrefix(path, "/health") || strings.Contains(body, `"error"`)):
		verify("restError", body)
	case at < 0:
		violated(fmt.Sprintf("%s %s is not in the list of endpoints", method, path), nil)
	default:
		if endpoints()[at].Request != nil {
			verify(endpoints()[at].Request.Ref, request)
		}
		verify(endpoints()[at].Response.Ref, body)
	}
}

// The checks refuse unlisted members and invalid times.
func TestSchemaIsStrict(t *testing.T) {
	for _, test := range []struct {
		definition, text string
		fits             bool
	}{
		{"hello", `{"v":1,"type":"hello","client":{"name":"x","kind":"web"}}`, true},
		{"hello", `{"v":1,"type":"hello","client":{"name":"x","kind":"web"},"more":1}`, false},
		{"hello", `{"v":1,"type":"hello","client":{"name":"x","kind":"web","more":1}}`, false},
		{"time", `"2026-11-27T01:02:03.5+01:00"`, true},
		{"time", `"2026-11-27 01:02:03"`, false},
	} {
		if err := check(test.definition, []byte(test.text)); (err == nil) != test.fits {
			t.Errorf("%s %s: %v", test.definition, test.text, err)
		}
	}
}

// The schema has every frame type in the protocol's constants, and says which side sends it.
func TestSchemaHasEveryFrame(t *testing.T) {
	source, err := os.ReadFile("wire/frames.go")
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Defs map[string]json.RawMessage `json:"$defs"`
	}
	if err := json.Unmarshal(docs.ProtocolSchema, &schema); err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for _, side := range []string{"client", "server"} {
		for _, ref := range regexp.MustCompile(`#/\$defs/([a-z_]+)`).FindAllStringSubmatch(string(schema.Defs[side]), -1) {
			listed[ref[1]] = true
		}
	}
	named := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^\tType\w+\s+= "([a-z_]+)"`).FindAllStringSubmatch(string(source), -1) {
		named[m[1]] = true
	}
	if len(named) < 15 || !maps.Equal(listed, named) {
		t.Errorf("the schema lists the frames %v, wire/frames.go has %v", slices.Sorted(maps.Keys(listed)), slices.Sorted(maps.Keys(named)))
	}
}

// The schema refuses and accepts the same frames as the server.
func TestSchemaOfClientFrames(t *testing.T) {
	for _, tt := range []struct {
		frame string
		fits  bool
	}{
		{helloFrame, true},
		{approve("call_1", "s1", "d", "approve"), true},
		{approve("call_1", "s1", "d", "perhaps"), false},
		{approve("call_1", "*", "d", "approve"), false},
		{approve("call_1", "s1", "", "approve"), false},
		{`{"v":1,"type":"set_autonomy","sessionId":"s1","level":"ask-on-write"}`, true},
		{`{"v":1,"type":"set_autonomy","sessionId":"s1","level":"YOLO"}`, false},
		{`{"v":2,"type":"cancel","sessionId":"s1"}`, false},
		{`{"v":1,"type":"cancel"}`, false},
		{`{"v":1,"type":"agent_add","sessionId":"s1","role":"reviewer","permissions":{"shell_exec":"deny"}}`, true},
		{`{"v":1,"type":"agent_add","sessionId":"s1"}`, false},
		{`{"v":1,"type":"launch","sessionId":"s1"}`, false},
	} {
		if err := check("client", []byte(tt.frame)); (err == nil) != tt.fits {
			t.Errorf("%s: %v", tt.frame, err)
		}
	}
}

func TestSchemaIsServed(t *testing.T) {
	r := start(t, newFakeBackend("s1"))
	response, body := r.do(t, "", "GET", "/protocol.schema.json", "")
	if response.StatusCode != http.StatusOK || response.Header.Get("Content-Type") != "application/schema+json" || body != string(docs.ProtocolSchema) {
		t.Errorf("%d %s: %.80s", response.StatusCode, response.Header.Get("Content-Type"), body)
	}
}

// The schema lists exactly the paths that the server routes under /api and /health, with their methods.
func TestSchemaHasEveryEndpoint(t *testing.T) {
	sources, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	routed := map[string]bool{}
	route, method := regexp.MustCompile(`path\("(/(?:api|health)[^"]*)", methods\{([^\n]*)\}\)`), regexp.MustCompile(`"([A-Z]+)":`)
	for _, name := range sources {
		source, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range route.FindAllStringSubmatch(string(source), -1) {
			for _, verb := range method.FindAllStringSubmatch(m[2], -1) {
				routed[verb[1]+" "+m[1]] = true
			}
		}
	}
	listed := map[string]bool{}
	for _, e := range endpoints() {
		listed[e.Method+" "+e.Path] = true
	}
	for what := range routed {
		if !listed[what] {
			t.Errorf("the schema does not list %s", what)
		}
	}
	for what := range listed {
		if !routed[what] {
			t.Errorf("the schema lists %s, which is not routed", what)
		}
	}
	if len(routed) < 20 {
		t.Errorf("only %d routes were found", len(routed))
	}
}
