package proxy

import (
	"fmt"
	"strings"
	"testing"

	"callgate/internal/testserver/waits"
)

// A server that starts again is told what its host wants to hear.
func TestWishesOutliveAServer(t *testing.T) {
	_, h := ready(t, allowAll, false, []string{"s"}, script{
		Capabilities: `{"tools":{},"logging":{},"resources":{"subscribe":true}}`,
		Lists: map[string]string{
			"tools/list": oneTool, "resources/list": `{"resources":[{"uri":"x:a","name":"a"},{"uri":"x:b","name":"b"}]}`,
			"resources/subscribe": "{}", "resources/unsubscribe": "{}", "logging/setLevel": "{}",
		},
	})
	for i, request := range []string{
		`"resources/subscribe","params":{"uri":"x:a"}`, `"resources/subscribe","params":{"uri":"x:b"}`, `"resources/unsubscribe","params":{"uri":"x:a"}`,
		`"logging/setLevel","params":{"level":"error"}`,
	} {
		h.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":"w%d","method":%s}`, i, request))
		h.want(fmt.Sprintf(`{"jsonrpc":"2.0","id":"w%d","result":{}}`, i))
	}
	h.calls("1", "s_do", `{"do":"die"}`)
	h.text("1")
	told, id := "", 2
	waits.Until(t, "the new process has been told", func() bool {
		id++
		h.calls(fmt.Sprint(id), "s_do", `{"do":"wishes"}`)
		told, _ = h.text(fmt.Sprint(id))
		return strings.Contains(told, `resources/subscribe {"uri":"x:b"}`) && strings.Contains(told, `logging/setLevel {"level":"error"}`)
	})
	if strings.Contains(told, "x:a") {
		t.Errorf("the server was told %s", told)
	}
}
