// Package botapi plays Telegram's Bot API, as far as approvers use it. Tests read what a bot wrote, and press buttons
// and write like people.
package botapi

import (
	"encoding/json"
	"fmt"
	"html"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Token is the token of the only bot.
const Token = "123:secret-of-the-bot"

const patience = 20 * time.Second

// API is a running Bot API. The caller MUST Close it.
type API struct {
	*httptest.Server

	// Fail, if not nil, is called first for every method. Unless status is 0, its answer replaces the API's. Set it
	// before the bot starts.
	Fail func(method string) (status int, body string)

	mu         sync.Mutex
	messages   map[int]*Message // by id
	toasts     []string         // answers to pressed buttons
	updates    []map[string]any
	next       int
	complaints []string      // what the bot did wrong
	changed    chan struct{} // closed and replaced when anything happens
}

// Message is a message of the bot at one moment.
type Message struct {
	ID      int
	Chat    int64
	Text    string
	ReplyTo int               // the message that it replies to; 0 for none
	Buttons map[string]string // text → data or address
	Edits   int
}

// Start starts a Bot API on a free port of this machine.
func Start() *API {
	a := &API{messages: map[int]*Message{}, changed: make(chan struct{})}
	a.Server = httptest.NewServer(http.HandlerFunc(a.serve))
	return a
}

func (a *API) serve(w http.ResponseWriter, r *http.Request) {
	rest, ok := strings.CutPrefix(r.URL.Path, "/bot"+Token+"/")
	if !ok {
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprint(w, `{"ok":false,"error_code":401,"description":"Unauthorized"}`)
		return
	}
	if r.ParseForm() != nil {
		return // the bot has gone away
	}
	if a.Fail != nil {
		if status, body := a.Fail(rest); status != 0 {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body) // a bot that is gone reads nothing
			return
		}
	}
	switch rest {
	case "getUpdates":
		a.poll(w, r)
	case "sendMessage", "editMessageText":
		a.write(w, r, rest)
	case "answerCallbackQuery":
		a.mu.Lock()
		a.toasts = append(a.toasts, r.FormValue("text"))
		a.touch()
		a.mu.Unlock()
		reply(w, true)
	default:
		a.complain("the bot calls %s", rest)
	}
}

func reply(w http.ResponseWriter, result any) {
	text, err := json.Marshal(map[string]any{"ok": true, "result": result})
	if err != nil {
		panic(err)
	}
	_, _ = w.Write(text) // a bot that is gone reads nothing
}

// number returns a number from the form; 0 if it has none.
func number(r *http.Request, name string) int64 {
	n, err := strconv.ParseInt(r.FormValue(name), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// poll answers when there is an update, or after a second.
func (a *API) poll(w http.ResponseWriter, r *http.Request) {
	offset := number(r, "offset")
	timeout := time.After(time.Second)
	for {
		a.mu.Lock()
		due := []map[string]any{}
		for _, u := range a.updates {
			if int64(u["update_id"].(int)) >= offset {
				due = append(due, u)
			}
		}
		changed := a.changed
		a.mu.Unlock()
		if len(due) > 0 {
			reply(w, due)
			return
		}
		select {
		case <-changed:
		case <-timeout:
			reply(w, due)
			return
		case <-r.Context().Done():
			return
		}
	}
}

func (a *API) write(w http.ResponseWriter, r *http.Request, method string) {
	chat := number(r, "chat_id")
	if n := len([]rune(html.UnescapeString(r.FormValue("text")))); n > 4096 || n == 0 {
		a.complain("a message of %d characters", n)
	}
	if r.FormValue("parse_mode") == "HTML" && !strings.Contains(r.FormValue("link_preview_options"), `"is_disabled":true`) {
		a.complain("a message may open addresses")
	}
	var keyboard struct {
		Rows [][]struct {
			Text string `json:"text"`
			Data string `json:"callback_data"`
			URL  string `json:"url"`
		} `json:"inline_keyboard"`
	}
	if text := r.FormValue("reply_markup"); text != "" {
		if err := json.Unmarshal([]byte(text), &keyboard); err != nil {
			a.complain("reply_markup %s: %v", text, err)
		}
	}
	buttons := map[string]string{}
	for _, row := range keyboard.Rows {
		for _, b := range row {
			if len(b.Data) > 64 {
				a.complain("button data of %d bytes", len(b.Data))
			}
			buttons[b.Text] = b.Data + b.URL // it has only one of them
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	var m *Message
	if method == "editMessageText" {
		m = a.messages[int(number(r, "message_id"))]
		if m == nil || m.Chat != chat {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"ok":false,"error_code":400,"description":"Bad Request: message to edit not found"}`)
			return
		}
		m.Edits++
	} else {
		a.next++
		m = &Message{ID: a.next, Chat: chat}
		a.messages[m.ID] = m
		var to struct {
			ID int `json:"message_id"`
		}
		if text := r.FormValue("reply_parameters"); text != "" {
			if err := json.Unmarshal([]byte(text), &to); err != nil {
				a.complaints = append(a.complaints, "reply_parameters: "+err.Error())
			}
		}
		m.ReplyTo = to.ID
	}
	m.Text, m.Buttons = r.FormValue("text"), buttons
	a.touch()
	reply(w, map[string]any{"message_id": m.ID, "date": 1, "chat": map[string]any{"id": chat, "type": "private"}})
}

// touch wakes those who wait. The caller MUST hold mu.
func (a *API) touch() {
	close(a.changed)
	a.changed = make(chan struct{})
}

// complain records something that the bot did wrong.
func (a *API) complain(format string, args ...any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.complaints = append(a.complaints, fmt.Sprintf(format, args...))
}

// Complaints returns what the bot did wrong.
func (a *API) Complaints() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.complaints)
}

// Happen gives u an id and sends it to the bot.
func (a *API) Happen(u map[string]any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	u["update_id"] = len(a.updates) + 1
	a.updates = append(a.updates, u)
	a.touch()
}

// Alice is the id of the user who presses and writes unless a test names another.
const Alice = 7

// Press presses a button of a message, as Alice, in the message's chat.
func (a *API) Press(m Message, button string) error {
	data, ok := m.Buttons[button]
	if !ok {
		return fmt.Errorf("message %q has no button %q, only %v", m.Text, button, m.Buttons)
	}
	a.PressData(Alice, m.Chat, m.ID, data)
	return nil
}

// PressData presses a button with that data, whether it exists or not.
func (a *API) PressData(user, chat int64, message int, data string) {
	a.Happen(map[string]any{"callback_query": map[string]any{
		"id": "q", "from": map[string]any{"id": user, "username": "alice"}, "data": data, "message": at(chat, message),
	}})
}

func at(chat int64, id int) map[string]any {
	return map[string]any{"message_id": id, "date": time.Now().Unix(), "chat": map[string]any{"id": chat}}
}

// Said is the message id of what Say writes.
const Said = 9000

// Say writes a message in a chat, as a reply to another one unless to is 0.
func (a *API) Say(user, chat int64, to int, text string) {
	m := at(chat, Said)
	m["from"], m["text"] = map[string]any{"id": user, "first_name": "Alice"}, text
	if to != 0 {
		m["reply_to_message"] = at(chat, to)
	}
	a.Happen(map[string]any{"message": m})
}

// Wait waits for a message for which fits returns true, and returns it as it is then.
func (a *API) Wait(fits func(Message) bool) (found Message, err error) {
	err = a.until(func() bool {
		for _, id := range slices.Sorted(maps.Keys(a.messages)) {
			if fits(*a.messages[id]) {
				found = *a.messages[id]
				return true
			}
		}
		return false
	})
	return found, err
}

// Toast waits until the answer to a pressed button contains the text.
func (a *API) Toast(text string) error {
	return a.until(func() bool {
		return slices.ContainsFunc(a.toasts, func(said string) bool { return strings.Contains(said, text) })
	})
}

// until waits until there returns true. It calls there with mu held.
func (a *API) until(there func() bool) error {
	timeout := time.After(patience)
	for {
		a.mu.Lock()
		ok, changed := there(), a.changed
		all := fmt.Sprintf("buttons said %q; %d messages", a.toasts, len(a.messages))
		for _, m := range a.messages {
			all += fmt.Sprintf("\n%d: %s %v", m.ID, m.Text, m.Buttons)
		}
		a.mu.Unlock()
		if ok {
			return nil
		}
		select {
		case <-changed:
		case <-timeout:
			return fmt.Errorf("that did not come; %s", all)
		}
	}
}

// Clear forgets all messages and returns their number.
func (a *API) Clear() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := len(a.messages)
	clear(a.messages)
	return n
}
