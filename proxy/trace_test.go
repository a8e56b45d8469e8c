package proxy

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"

	"callgate/internal/testserver/spans"
	"callgate/internal/traces"
	"callgate/proxy/internal/raw"
)

func TestCarrying(t *testing.T) {
	trace := map[string]string{"traceparent": "00-aa-bb-01"}
	for _, c := range []struct {
		name, params string
		trace        map[string]string
		want         string
	}{
		{"no trace", `{ "name" : "do" }`, nil, `{ "name" : "do" }`},
		{"no _meta", `{ "name":"do" }`, trace, `{"_meta":{"traceparent":"00-aa-bb-01"}, "name":"do" }`},
		{"empty _meta", `{"name":"do","_meta":{ }}`, trace, `{"name":"do","_meta":{"traceparent":"00-aa-bb-01" }}`},
		{"others stay", `{"_meta":{"n":1.0 ,"progressToken":7},"name":"do"}`, trace, `{"_meta":{"traceparent":"00-aa-bb-01","n":1.0 ,"progressToken":7},"name":"do"}`},
		{"the host's is replaced", `{"_meta":{"traceparent":"00-cc-dd-00","tracestate":"a=b","n":1}}`, trace, `{"_meta":{"traceparent":"00-aa-bb-01","n":1}}`},
		{
			"with its state", `{"_meta":{"tracestate":"a=b"}}`, map[string]string{"traceparent": "p", "tracestate": "a=b"},
			`{"_meta":{"tracestate":"a=b","traceparent":"p"}}`,
		},
		{"no place", `{"_meta":[1]}`, trace, `{"_meta":[1]}`},
	} {
		if got := string(raw.WithTrace([]byte(c.params), c.trace)); got != c.want {
			t.Errorf("%s: %s\nwant %s", c.name, got, c.want)
		}
	}
}

// collected returns a tracer and the collector of its spans.
func collected(t *testing.T) (*spans.Collector, *traces.Tracer) {
	got := &spans.Collector{}
	collector := httptest.NewServer(got)
	t.Cleanup(collector.Close)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
	tracer, err := traces.New(traces.Options{Version: "test", Worker: "default", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return got, tracer
}

// A call is a span below the host's. The decision and the server's part are spans below it, and the server gets the
// trace. No content of the call leaves.
func TestTraces(t *testing.T) {
	got, tracer := collected(t)
	w := newWorld(t, `{ "*": "allow" }`, false, []string{"s"}, script{Lists: map[string]string{"tools/list": oneTool}})
	w.proxy.tracer = tracer
	h := w.connect().collect()
	h.greet(helloParams)
	const trace, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	h.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"s_do","arguments":{"do":"","text":"PRIVATE"},"_meta":{"traceparent":"00-%s-%s-01","tracestate":"vendor=1","n":9007199254740993}}}`, trace, parent))
	if _, isError := h.text("1"); isError {
		t.Fatal("the call failed")
	}
	h.calls("2", "s_do", `{"do":"received"}`)
	text, _ := h.text("2")
	var forwarded struct {
		Params struct {
			Meta struct {
				Traceparent, Tracestate string
				N                       json.Number
			} `json:"_meta"`
		}
	}
	if err := json.Unmarshal([]byte(text), &forwarded); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	h.close()
	if err := tracer.Close(); err != nil {
		t.Fatal(err)
	}
	named := got.Named(trace)
	call := named["tools/call s_do"]
	if call.ID == "" || named["decide"].Parent != call.ID || named["tools/call do"].Parent != call.ID {
		t.Fatalf("the spans are %+v", named)
	}
	meta := forwarded.Params.Meta
	if meta.Tracestate != "vendor=1" || meta.N != "9007199254740993" || !strings.HasPrefix(meta.Traceparent, "00-"+trace+"-") || strings.Contains(meta.Traceparent, parent) {
		t.Errorf("the server got %+v", meta)
	}
	if a := call.Attributes; a["callgate.decision"] != "auto_approved" || a["callgate.risk"] == "" || a["gen_ai.tool.name"] != "s_do" {
		t.Errorf("the span of the call is %v", call)
	}
	if strings.Contains(got.Raw(), "PRIVATE") {
		t.Error("an argument left in a span")
	}
}

// Without a tracer, the host's trace passes unchanged.
func TestTracesOff(t *testing.T) {
	w := newWorld(t, `{ "*": "allow" }`, false, []string{"s"}, script{Lists: map[string]string{"tools/list": oneTool}})
	h := w.connect().collect()
	h.greet(helloParams)
	h.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"s_do","arguments":{},"_meta":{ "traceparent":"00-x" }}}`)
	h.text("1")
	h.calls("2", "s_do", `{"do":"received"}`)
	if text, _ := h.text("2"); !strings.Contains(text, `"_meta":{ "traceparent":"00-x" }`) {
		t.Errorf("the server got %s", text)
	}
}

// Requests other than tools/call that pass the gate are traced like it: below the trace that the request names, with
// the decision and the answerer's part. No resource's address and no prompt's text leaves.
func TestTracesOfOtherMethods(t *testing.T) {
	got, tracer := collected(t)
	w := newWorld(t, `{ "*": "allow", "resource_read": { "*": "allow", "*DENIED*": "deny" } }`, false, []string{"s"}, script{Capabilities: `{"tools":{},"prompts":{},"resources":{}}`, Lists: map[string]string{
		"tools/list": oneTool, "prompts/list": `{"prompts":[{"name":"p"}]}`, "prompts/get": `{"messages":[]}`,
		"resources/list": `{"resources":[{"uri":"x:PRIVATE","name":"a"}]}`, "resources/read": `{"contents":[]}`,
	}})
	w.proxy.tracer = tracer
	h := w.connect().collect()
	h.greet(helloParams)
	const trace = "0af7651916cd43dd8448eb211c80319c"
	meta := `"_meta":{"traceparent":"00-` + trace + `-b7ad6b7169203331-01","n":1.0}`
	for id, line := range map[string]string{
		"1": `"resources/read","params":{"uri":"x:PRIVATE",` + meta + `}`,
		"2": `"prompts/get","params":{"name":"s_p","arguments":{"a":"PRIVATE"},` + meta + `}`,
	} {
		h.send(`{"jsonrpc":"2.0","id":` + id + `,"method":` + line + `}`)
		if m := h.next(); m.Result == nil {
			t.Fatalf("%s: %s", line, m.Raw)
		}
	}
	h.send(`{"jsonrpc":"2.0","id":3,"method":"resources/read","params":{"uri":"x:DENIED"}}`)
	if m := h.next(); m.Error == nil {
		t.Fatalf("it was not denied: %s", m.Raw)
	}
	h.calls("4", "s_do", strings.ReplaceAll(`{"do":"write","text":"{'jsonrpc':'2.0','id':'q','method':'sampling/createMessage','params':{'messages':['PRIVATE'],`+strings.ReplaceAll(meta, `"`, `'`)+`}}"}`, `'`, `\"`))
	asked := h.next()
	if p := string(asked.Params); !strings.Contains(p, `"traceparent":"00-`+trace) || strings.Contains(p, "b7ad6b7169203331") || !strings.Contains(p, `"n":1.0`) {
		t.Errorf("the host got %s", p)
	}
	h.send(`{"jsonrpc":"2.0","id":` + string(asked.ID) + `,"error":{"code":1,"message":"PRIVATE"}}`)
	h.close()
	if err := tracer.Close(); err != nil {
		t.Fatal(err)
	}

	named := got.Named("")
	for _, name := range []string{"resources/read", "prompts/get s_p", "prompts/get p", "sampling/createMessage"} {
		span, ok := named[name]
		if !ok {
			t.Fatalf("no span is called %q: %v", name, named)
		}
		if span.Kind == spans.Server && (span.Attributes["callgate.decision"] == "" || span.Attributes["callgate.server"] != "s") {
			t.Errorf("the span of %s is %v", name, span)
		}
	}
	if prompt := named["prompts/get s_p"]; prompt.Attributes["gen_ai.prompt.name"] != "s_p" || prompt.Trace != trace {
		t.Errorf("the span of the prompt is %v", prompt)
	}
	if failed := named["sampling/createMessage"].Attributes["error.type"]; failed != "call_failed" {
		t.Errorf("the span of sampling says %q", failed)
	}
	if strings.Contains(got.Raw(), "PRIVATE") || strings.Contains(got.Raw(), "DENIED") {
		t.Error("something of the requests left in a span")
	}
}
