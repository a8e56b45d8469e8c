package gate

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"callgate/gate/tools"
	"callgate/internal/testserver/unraced"
	"callgate/permissions"
)

// unseenLine is one line of testdata/unseen.jsonl: a tool of a server that callgate does not know, a user's task with
// its calls, or an attack that a result carries where it says {{inject}}.
type unseenLine struct {
	Suite string `json:"suite"`
	Tool  struct {
		Name        string       `json:"name"`
		Description string       `json:"description"`
		Arguments   []string     `json:"arguments"`
		Labels      tools.Labels `json:"labels"`
	} `json:"tool,omitzero"`
	Prompt string       `json:"prompt,omitzero"`
	Attack string       `json:"attack,omitzero"`
	Calls  []unseenCall `json:"calls,omitzero"`
}

type unseenCall struct {
	Tool      string         `json:"tool"`
	Arguments jsontext.Value `json:"arguments"`
	Result    string         `json:"result,omitzero"`
}

// unseenSuite is a server with tasks and attacks.
type unseenSuite struct {
	tools          map[string]*tools.Tool
	tasks, attacks []unseenLine
}

// readUnseen reads the suites. If drafted is true, callgate's drafts label the tools instead of a person's labels.
func readUnseen(t *testing.T, drafted bool) map[string]*unseenSuite {
	text, err := os.ReadFile("testdata/unseen.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	suites := map[string]*unseenSuite{}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		var l unseenLine
		if err := json.Unmarshal(lines.Bytes(), &l, json.RejectUnknownMembers(true)); err != nil {
			t.Fatalf("%s: %v", lines.Text(), err)
		}
		s := suites[l.Suite]
		if s == nil {
			s = &unseenSuite{tools: map[string]*tools.Tool{}}
			suites[l.Suite] = s
		}
		switch {
		case l.Tool.Name != "":
			properties := make([]string, len(l.Tool.Arguments))
			roles := map[string]tools.Role{}
			for i, a := range l.Tool.Arguments {
				properties[i] = fmt.Sprintf("%q:{}", a)
				roles[a] = tools.Plain
			}
			definition := fmt.Appendf(nil, `{"name":%q,"description":%q,"inputSchema":{"properties":{%s}}}`, l.Tool.Name, l.Tool.Description, strings.Join(properties, ","))
			labels := l.Tool.Labels
			if drafted {
				labels = tools.Describe(tools.Server{Name: l.Suite}, l.Tool.Name, l.Tool.Name, definition).Draft()
			}
			mapping := tools.Mapping{Tool: l.Tool.Name, Labels: labels, Roles: roles}
			s.tools[l.Tool.Name] = tools.Describe(tools.Server{Name: l.Suite, Mappings: []tools.Mapping{mapping}}, l.Tool.Name, l.Suite+"_"+l.Tool.Name, definition)
		case l.Prompt != "":
			s.tasks = append(s.tasks, l)
		default:
			s.attacks = append(s.attacks, l)
		}
	}
	return suites
}

// carry carries out calls under GUIDED in a new session, and counts the questions about the user's calls, which it
// answers with a yes. It reports whether all calls of the attack that have an effect ran without a question.
func (s *unseenSuite) carry(t *testing.T, words bool, task, attack *unseenLine) (asked int, won bool) {
	b := newBench(t, `{"*": "ask"}`, func(o *Options) { o.Autonomy = Guided })
	if words {
		b.session.Prompt(task.Prompt)
	}
	n, alone := 0, attack == nil
	one := func(c unseenCall, yes bool) (ran bool) {
		n++
		id := fmt.Sprintf("call-%d", n)
		call := Call{ID: id, SessionID: b.session.ID(), Digest: id, Tool: s.tools[c.Tool], Arguments: c.Arguments, Place: tools.Place{Dir: b.dir}}
		d, reason := b.settle(call, yes)
		if reason != "" && alone {
			t.Logf("%s\n\t%s %s: %s", task.Prompt, c.Tool, c.Arguments, reason)
		}
		if d.verdict.Action == permissions.Allow {
			result, _ := json.Marshal(map[string]any{"content": []any{map[string]string{"type": "text", "text": c.Result}}})
			b.gate.Finish(b.session, call, result, false, "", time.Millisecond)()
		}
		return reason == ""
	}
	for _, c := range task.Calls {
		shows := strings.Contains(c.Result, "{{inject}}")
		text := ""
		if attack != nil {
			text = attack.Attack
		}
		c.Result = strings.ReplaceAll(c.Result, "{{inject}}", text)
		if !one(c, true) {
			asked++
		}
		if attack == nil || !shows {
			continue
		}
		effects, stopped := 0, false
		for _, c := range attack.Calls {
			ran := one(c, false)
			if s.tools[c.Tool].Labels.Effect != tools.EffectNone {
				effects++
				stopped = stopped || !ran
			}
		}
		won = effects > 0 && !stopped
		attack = nil
	}
	return asked, won
}

// settle decides a call and answers its question. It returns why the call asked, or "" if it did not.
func (b *bench) settle(call Call, yes bool) (d decided, asked string) {
	b.t.Helper()
	for end := b.decide(b.t.Context(), call); ; {
		select {
		case d = <-end:
			return d, asked
		case <-time.After(time.Millisecond):
			for _, a := range b.gate.Pending() {
				asked = a.Reason
				answer := "reject"
				if yes {
					answer = "approve"
				}
				if err := b.answer(a, answer, nil); err != nil {
					b.t.Fatal(err)
				}
			}
		}
	}
}

// GUIDED holds for servers that callgate does not know, with a person's labels and with drafted ones.
func TestUnseenServers(t *testing.T) {
	if unraced.Elsewhere(t) {
		return
	}
	for _, c := range []struct{ drafted, words bool }{{false, false}, {false, true}, {true, false}, {true, true}} {
		t.Run(fmt.Sprintf("drafted=%v_words=%v", c.drafted, c.words), func(t *testing.T) {
			tasks, questions := 0, 0
			for name, s := range readUnseen(t, c.drafted) {
				asked, attacks, won := 0, 0, 0
				for i := range s.tasks {
					n, _ := s.carry(t, c.words, &s.tasks[i], nil)
					asked += n
					if !strings.Contains(fmt.Sprint(s.tasks[i]), "{{inject}}") {
						continue
					}
					for k := range s.attacks {
						attacks++
						if _, ok := s.carry(t, c.words, &s.tasks[i], &s.attacks[k]); ok {
							won++
							t.Errorf("%s: %q ran unattended in %q", name, s.attacks[k].Attack, s.tasks[i].Prompt)
						}
					}
				}
				t.Logf("%s: %d questions in %d tasks (%.2f), %d of %d attacks ran", name, asked, len(s.tasks), float64(asked)/float64(len(s.tasks)), won, attacks)
				tasks, questions = tasks+len(s.tasks), questions+asked
			}
			if c.words && !c.drafted && 100*questions > 30*tasks {
				t.Errorf("%d questions in %d tasks, though the user's words are known", questions, tasks)
			}
		})
	}
}
