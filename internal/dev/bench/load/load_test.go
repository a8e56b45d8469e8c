package load

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

// The test binary is its own MCP server if this variable names a behaviour.
const behaviour = "LOAD_TEST_SERVER"

func TestMain(m *testing.M) {
	if how := os.Getenv(behaviour); how != "" {
		serve(how)
		return
	}
	os.Setenv("GORACE", "atexit_sleep_ms=0") // else a child built with -race would sleep for a second when it ends
	os.Exit(m.Run())
}

func serve(how string) {
	lists := 0
	for in := bufio.NewReader(os.Stdin); ; {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var request struct {
			ID     json.RawMessage
			Method string
			Params struct{ Arguments struct{ Text string } }
		}
		if err := json.Unmarshal(line, &request); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		answer := func(result string) { fmt.Printf("{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}\n", request.ID, result) }
		switch request.Method {
		case "initialize":
			if how == "dies" {
				fmt.Fprintln(os.Stderr, "cannot go on")
				os.Exit(1)
			}
			answer(`{}`)
		case "tools/list":
			if lists++; how == "lists late" && lists < 3 {
				answer(`{"tools":[]}`)
			} else {
				answer(`{"tools":[{"name":"other"},{"name":"server_echo"}]}`)
			}
		case "tools/call":
			switch how {
			case "refuses":
				answer(`{"isError":true,"content":[{"type":"text","text":"` + request.Params.Arguments.Text + `"}]}`)
			case "id last":
				fmt.Printf("{\"result\":{\"text\":%q},\"jsonrpc\":\"2.0\",\"id\":%s}\n", request.Params.Arguments.Text, request.ID)
			default:
				fmt.Println(`{"jsonrpc":"2.0","method":"notifications/message","params":{}}`)
				answer(`{"content":[{"type":"text","text":"` + request.Params.Arguments.Text + `"}]}`)
			}
		}
	}
}

func started(t *testing.T, how string) *Client {
	t.Helper()
	t.Setenv(behaviour, how)
	c, err := Start([]string{os.Args[0]})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func TestCalls(t *testing.T) {
	for _, how := range []string{"answers", "lists late", "id last"} {
		t.Run(how, func(t *testing.T) {
			c := started(t, how)
			if c.InitAfter <= 0 || c.ListAfter < c.InitAfter || c.tool != "server_echo" {
				t.Errorf("initialize after %s, list after %s, tool %q", c.InitAfter, c.ListAfter, c.tool)
			}
			for _, text := range []string{"hello", strings.Repeat("x", 200_000)} {
				latencies, err := c.Sequential(20, text)
				if err != nil || len(latencies) != 20 || latencies.Quantile(0) <= 0 {
					t.Errorf("%d sequential calls, %v", len(latencies), err)
				}
				took, latencies, err := c.InFlight(50, 16, text)
				if err != nil || len(latencies) != 50 || took < latencies.Quantile(1) || latencies.Quantile(0) <= 0 {
					t.Errorf("%d calls in flight, %v; the slowest took %s of %s", len(latencies), err, latencies.Quantile(1), took)
				}
			}
		})
	}
}

func TestErrorsAreNotMeasured(t *testing.T) {
	c := started(t, "refuses")
	if _, err := c.Sequential(1, "hello"); err == nil {
		t.Error("a result that says isError passed as an answer")
	}
	c = started(t, "refuses")
	if _, _, err := c.InFlight(100, 4, "hello"); err == nil {
		t.Error("a result that says isError passed as an answer")
	}
}

func TestStartSaysWhyItFailed(t *testing.T) {
	t.Setenv(behaviour, "dies")
	if _, err := Start([]string{os.Args[0]}); err == nil || !strings.Contains(err.Error(), "EOF") {
		t.Errorf("error %v", err)
	}
	if _, err := Start([]string{"no-such-program-anywhere"}); err == nil {
		t.Error("started a program that is not there")
	}
}

func TestMemory(t *testing.T) {
	c := started(t, "answers")
	m, ok := c.Memory()
	if ok != (runtime.GOOS == "linux") || ok && (m.Now < 1<<20 || m.Peak < m.Now) {
		t.Errorf("%+v, %v", m, ok)
	}
}

func TestQuantile(t *testing.T) {
	l := Latencies{5, 1, 4, 2, 3}
	for q, want := range map[float64]time.Duration{0: 1, .5: 3, .99: 4, 1: 5} {
		if got := l.Quantile(q); got != want {
			t.Errorf("quantile %v is %d, want %d", q, got, want)
		}
	}
	if l[0] != 5 {
		t.Error("the receiver was sorted")
	}
	if Latencies(nil).Quantile(.5) != 0 {
		t.Error("no latencies have a quantile")
	}
}

func TestLeadingID(t *testing.T) {
	for line, want := range map[string]int64{
		`{"jsonrpc":"2.0","id":7,"result":{}}`:                        7,
		`{"jsonrpc":"2.0","id":"7","result":{}}`:                      -1,
		`{"jsonrpc":"2.0","method":"notifications/message"}`:          -1,
		`{"jsonrpc":"2.0","id":123456789012345678901234567890,"r":1}`: -1,
		`{"jsonrpc":"2.0","id":`:                                      -1,
		``:                                                            -1,
	} {
		got, ok := leadingID([]byte(line))
		if ok != (want >= 0) || ok && got != want {
			t.Errorf("%s: %d, %v", line, got, ok)
		}
	}
}
