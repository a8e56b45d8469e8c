package hosthooks

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"callgate/gate/tools"
)

// A host that skips its hooks still writes its transcript, or mentions the call elsewhere. callgate matches each such
// call with the hook's questions.

// Transcript describes a host's transcript: a file with a JSON value on each line, or with a single JSON value.
type Transcript struct {
	Path  field    `yaml:"path"`
	At    string   `yaml:"at"`    // the path below the home, with {name} in it, if the host does not give the path
	Name  field    `yaml:"name"`  // the field that {name} stands for
	Form  string   `yaml:"form"`  // one of transcriptForms
	Whole bool     `yaml:"whole"` // the file is one value, which the host rewrites
	Dated bool     `yaml:"dated"` // results have times, so callgate can read the file from its start
	Only  []string `yaml:"only"`  // the tools with hooks; empty: all
	Skip  []string `yaml:"skip"`  // harmless tools without hooks
}

// told is what one line of a transcript says.
type told struct {
	version string
	calls   []toldCall
	results []toldResult
}

type toldCall struct {
	id, tool  string
	arguments json.RawMessage
}

type toldResult struct {
	id   string
	fine bool      // the host says that the call ran
	at   time.Time // zero if unknown
}

var transcriptForms = map[string]func(line []byte) told{"claude": tellClaude, "codex": tellCodex, "gemini": tellGemini, "qwen": tellQwen, "copilot": tellCopilot, "cline": tellCline}

func tellClaude(line []byte) (t told) {
	var l struct {
		Version string `json:"version"`
		Message struct {
			Content json.RawMessage `json:"content"`
		} `json:"message"`
	}
	var content []struct {
		Type      string          `json:"type"`
		ID        string          `json:"id"`
		Name      string          `json:"name"`
		Input     json.RawMessage `json:"input"`
		ToolUseID string          `json:"tool_use_id"`
		IsError   bool            `json:"is_error"`
	}
	if json.Unmarshal(line, &l) != nil {
		return t
	}
	t.version = l.Version
	if json.Unmarshal(l.Message.Content, &content) != nil { // it is a text
		return t
	}
	for _, c := range content {
		switch c.Type {
		case "tool_use":
			t.calls = append(t.calls, toldCall{c.ID, c.Name, c.Input})
		case "tool_result":
			t.results = append(t.results, toldResult{id: c.ToolUseID, fine: !c.IsError})
		}
	}
	return t
}

func tellCodex(line []byte) (t told) {
	var l struct {
		Payload struct {
			Type    string `json:"type"`
			Version string `json:"cli_version"`
			Name    string `json:"name"`
			ID      string `json:"call_id"`
		} `json:"payload"`
	}
	if json.Unmarshal(line, &l) != nil {
		return t
	}
	t.version = l.Payload.Version
	switch p := l.Payload; p.Type {
	case "function_call", "custom_tool_call":
		t.calls = []toldCall{{id: p.ID, tool: p.Name}}
	case "function_call_output", "custom_tool_call_output":
		t.results = []toldResult{{id: p.ID}}
	}
	return t
}

type geminiPart struct {
	Call *struct {
		ID   string          `json:"id"`
		Name string          `json:"name"`
		Args json.RawMessage `json:"args"`
	} `json:"functionCall"`
	Response *struct {
		ID       string `json:"id"`
		Response struct {
			Error any `json:"error"`
		} `json:"response"`
	} `json:"functionResponse"`
}

func (t *told) parts(parts []geminiPart) {
	for _, p := range parts {
		if p.Call != nil {
			t.calls = append(t.calls, toldCall{p.Call.ID, p.Call.Name, p.Call.Args})
		}
		if p.Response != nil {
			t.results = append(t.results, toldResult{id: p.Response.ID, fine: p.Response.Response.Error == nil})
		}
	}
}

func tellCopilot(line []byte) (t told) {
	var l struct {
		Type string    `json:"type"`
		At   time.Time `json:"timestamp"`
		Data struct {
			Version   string          `json:"copilotVersion"`
			ID        string          `json:"toolCallId"`
			Name      string          `json:"toolName"`
			Arguments json.RawMessage `json:"arguments"`
			Success   bool            `json:"success"`
		} `json:"data"`
	}
	if json.Unmarshal(line, &l) != nil {
		return t
	}
	t.version = l.Data.Version
	switch l.Type {
	case "tool.execution_start":
		t.calls = []toldCall{{l.Data.ID, l.Data.Name, l.Data.Arguments}}
	case "tool.execution_complete":
		t.results = []toldResult{{l.Data.ID, l.Data.Success, l.At}}
	}
	return t
}

// tellCline reads the whole file.
func tellCline(text []byte) (t told) {
	var l struct {
		Origin struct {
			Version string `json:"version"`
		} `json:"origin"`
		Messages []struct {
			TS      int64           `json:"ts"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
	}
	if json.Unmarshal(text, &l) != nil {
		return t
	}
	t.version = l.Origin.Version
	for _, m := range l.Messages {
		var content []struct {
			Type      string          `json:"type"`
			ID        string          `json:"id"`
			Name      string          `json:"name"`
			Input     json.RawMessage `json:"input"`
			ToolUseID string          `json:"tool_use_id"`
			Content   []struct {
				Success *bool `json:"success"`
			} `json:"content"`
		}
		if json.Unmarshal(m.Content, &content) != nil { // it is a text
			continue
		}
		for _, c := range content {
			switch c.Type {
			case "tool_use":
				t.calls = append(t.calls, toldCall{c.ID, c.Name, c.Input})
			case "tool_result":
				fine := slices.ContainsFunc(c.Content, func(part struct {
					Success *bool `json:"success"`
				}) bool {
					return part.Success != nil && *part.Success
				})
				t.results = append(t.results, toldResult{c.ToolUseID, fine, time.UnixMilli(m.TS)})
			}
		}
	}
	return t
}

func tellQwen(line []byte) (t told) {
	var l struct {
		Version string `json:"version"`
		Message struct {
			Parts []geminiPart `json:"parts"`
		} `json:"message"`
	}
	if json.Unmarshal(line, &l) == nil {
		t.version = l.Version
		t.parts(l.Message.Parts)
	}
	return t
}

func tellGemini(line []byte) (t told) {
	var l struct {
		Content json.RawMessage `json:"content"`
		Calls   []struct {
			ID   string          `json:"id"`
			Name string          `json:"name"`
			Args json.RawMessage `json:"args"`
		} `json:"toolCalls"`
	}
	if json.Unmarshal(line, &l) != nil {
		return t
	}
	for _, c := range l.Calls {
		t.calls = append(t.calls, toldCall{c.ID, c.Name, c.Args})
	}
	var parts []geminiPart
	if json.Unmarshal(l.Content, &parts) == nil { // otherwise it is a text
		t.parts(parts)
	}
	return t
}

// Limits: how much of a transcript is read at a time, how much for its first line, and calls without a result.
const (
	maxTold    = 16 << 20
	maxFirst   = 256 << 10
	maxPending = 10_000
)

// reading tracks how far a transcript has been read.
type reading struct {
	path    string
	offset  int64
	pending map[string]toldCall // calls without a result, by id
	asked   map[string]int      // how many questions of the hook the transcript has not mentioned yet, by key
	seen    map[string]bool     // ids of handled results
	version string              // the host's version in the first line
}

// follow starts to read a transcript: from its start if results have times; otherwise from its end, because its content
// may be from an earlier session.
func (v *visit) follow(path string) {
	if path == "" || path == v.reading.path || v.dialect.Transcript.Form == "" {
		return
	}
	v.reading.path, v.reading.offset = path, 0
	v.reading.pending, v.reading.seen = map[string]toldCall{}, map[string]bool{}
	f, err := os.Open(path)
	if err != nil {
		return // it does not exist yet
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return
	}
	if v.dialect.Transcript.Dated {
		return
	}
	v.reading.offset = info.Size()
	in := bufio.NewScanner(io.LimitReader(f, maxFirst))
	in.Buffer(nil, maxFirst)
	if in.Scan() { // the host's version may be only there
		v.reading.version = transcriptForms[v.dialect.Transcript.Form](in.Bytes()).version
	}
}

// hear records that the hook was asked about a call.
func (v *visit) hear(key string) {
	if v.dialect.Transcript.Form == "" && !v.dialect.has(Reported) { // the host mentions no calls outside its hooks
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.reading.asked == nil || len(v.reading.asked) > maxPending {
		v.reading.asked = map[string]int{}
	}
	v.reading.asked[key]++
}

// readOn reads what is new in the transcript. It returns the calls that have ended, and the ids of those that ran. The
// caller MUST hold v.mu.
func (v *visit) readOn() (version string, done []toldCall, fine map[string]bool, err error) {
	if v.reading.path == "" { // the host has named none
		return "", nil, nil, nil
	}
	f, err := os.Open(v.reading.path)
	if err != nil {
		return "", nil, nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() < v.reading.offset {
		return "", nil, nil, err // it is another file now
	}
	if _, err := f.Seek(v.reading.offset, io.SeekStart); err != nil {
		return "", nil, nil, err
	}
	tell := transcriptForms[v.dialect.Transcript.Form]
	version = v.reading.version
	in := bufio.NewReader(io.LimitReader(f, maxTold))
	fine = map[string]bool{}
	for over := false; !over; {
		var line []byte
		if over = v.dialect.Transcript.Whole; over {
			line, err = io.ReadAll(in)
		} else if line, err = in.ReadBytes('\n'); err == nil {
			v.reading.offset += int64(len(line))
		}
		if err != nil { // the rest comes at the next event
			break
		}
		t := tell(bytes.TrimSpace(line))
		if t.version != "" {
			version = t.version
		}
		for _, c := range t.calls {
			if len(v.reading.pending) < maxPending && !v.reading.seen[c.id] {
				v.reading.pending[c.id] = c
			}
		}
		for _, r := range t.results {
			c, ok := v.reading.pending[r.id]
			if !ok {
				continue
			}
			delete(v.reading.pending, r.id)
			if len(v.reading.seen) > maxPending {
				clear(v.reading.seen)
			}
			v.reading.seen[r.id] = true
			if !r.at.IsZero() && r.at.Before(v.began) {
				continue // from an earlier session
			}
			done, fine[r.id] = append(done, c), r.fine
		}
	}
	return version, done, fine, nil
}

// checkTranscript matches the calls in the host's transcript with the hook's questions, and raises an alarm for a call
// without a question. It also learns the host's version.
func (d *Desk) checkTranscript(v *visit) {
	v.mu.Lock()
	version, done, fine, err := v.readOn()
	v.mu.Unlock()
	if err != nil {
		d.o.Log.Warn("a host's transcript cannot be read", "host", v.dialect.ID, "error", err)
		return
	}
	if version != "" {
		d.learn(v, version)
	}
	rules := v.dialect.Transcript
	for _, c := range done {
		if len(rules.Only) > 0 && !slices.Contains(rules.Only, c.tool) || slices.Contains(rules.Skip, c.tool) {
			continue
		}
		arguments, err := v.dialect.argumentsOf(c.arguments, c.tool)
		if err != nil {
			continue // unreadable calls were refused
		}
		e := &Event{Role: After, Tool: c.tool, Arguments: arguments, Call: c.id, Cwd: v.project}
		if len(v.dialect.Fields.Call) == 0 {
			e.Call = ""
		}
		d.match(v, e, fine[c.id], "as its transcript says")
	}
}

// match checks whether the hook was asked about a call that the host mentions, and raises an alarm if it was not.
func (d *Desk) match(v *visit, e *Event, fine bool, source string) {
	call, err := d.callOf(v, e)
	if err != nil {
		return // unreadable calls were refused, or the next hook reports them
	}
	key := keyOf(e, call)
	v.mu.Lock()
	asked := v.reading.asked[key] > 0
	if asked {
		v.reading.asked[key]--
	}
	if v.reading.asked[key] == 0 { // matched calls take no room
		delete(v.reading.asked, key)
	}
	_, denied := v.denied[key]
	v.mu.Unlock()
	switch {
	case denied && fine && e.Call != "":
		d.alarm(v, d.o.Proof.Disobeyed, fmt.Sprintf("%s ran %s although callgate had denied it, %s", v.dialect.Name, tools.Visible(e.Tool), source))
	case !asked && (fine || len(v.dialect.Transcript.Only) > 0) && !d.onRecord(v, e, call):
		d.alarm(v, d.o.Proof.Uncovered, fmt.Sprintf("%s ran %s, and callgate was not asked, %s", v.dialect.Name, tools.Visible(e.Tool), source))
	}
}

// learn records the host's version.
func (d *Desk) learn(v *visit, version string) {
	v.mu.Lock()
	known := v.version
	v.version = version
	v.mu.Unlock()
	if known != version {
		v.session.SetClient(clientOf(v.dialect, version))
		d.o.Proof.Seen(v.dialect.ID, version, "")
	}
}
