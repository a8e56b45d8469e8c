package channels

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"callgate/internal/outbound"
)

// Telegram posts to a chat through a bot and reads answers by long polls. A reply denies the question with a reason.
type Telegram struct {
	base, token string
	chat        int64

	mu     sync.Mutex     // held while a message is sent, since its id is not known until then
	keys   map[int]string // by message id
	offset int64          // of the next update; earlier ones do not come again
	until  time.Time      // when the pause that Telegram asked for ends

	newcomers rate.Sometimes // limits the answers to /start
}

// telegramRoom is the most bytes of text in a message. Telegram takes 4096 UTF-16 units.
const telegramRoom = 3800

// newcomersEvery is how often a /start is answered. Anybody may write one, and real answers wait meanwhile.
const newcomersEvery = 5 * time.Second

// NewTelegram takes the bot's token and the id of the chat. An empty api means Telegram's own.
func NewTelegram(api, chat, token string) (*Telegram, error) {
	api = strings.TrimSuffix(cmp.Or(api, "https://api.telegram.org"), "/")
	if err := checkAddress("url", api); err != nil {
		return nil, err
	}
	id, err := strconv.ParseInt(chat, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("to: %q is not the id of a chat", chat)
	}
	if token == "" {
		return nil, errors.New("the bot's token is missing")
	}
	return &Telegram{base: api + "/bot" + token + "/", token: token, chat: id, keys: map[int]string{}, newcomers: rate.Sometimes{Interval: newcomersEvery}}, nil
}

// errRefused marks a request that Telegram would refuse again.
var errRefused = errors.New("refused")

// call calls one method of the Bot API. Its errors leave out the token, which is part of every address.
func (t *Telegram) call(ctx context.Context, method string, form url.Values, to any) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, t.base+method, strings.NewReader(form.Encode()))
	if err != nil {
		return errors.New("url or token: they do not form an address")
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	response, err := client.Do(r)
	if err != nil {
		return outbound.WithoutAddress(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return err
	}
	var answer struct {
		OK          bool            `json:"ok"`
		Result      json.RawMessage `json:"result"`
		Description string          `json:"description"`
		Parameters  struct {
			RetryAfter int `json:"retry_after"`
		} `json:"parameters"`
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return errStatus(method, response.Status)
	}
	if !answer.OK {
		err := errStatus(method, strings.ReplaceAll(answer.Description, t.token, "***"))
		switch response.StatusCode {
		case http.StatusTooManyRequests:
			return pauseError{err, min(max(time.Duration(answer.Parameters.RetryAfter)*time.Second, time.Second), time.Minute)}
		case http.StatusBadRequest, http.StatusForbidden, http.StatusNotFound:
			return errors.Join(err, errRefused)
		}
		return err
	}
	return json.Unmarshal(answer.Result, to)
}

// pauseError is the error when Telegram asks for a pause.
type pauseError struct {
	error
	wait time.Duration
}

// Show sends the message with its buttons, or changes it. It shows no link previews.
func (t *Telegram) Show(ctx context.Context, where string, m Message) (string, error) {
	text := clip(m.Text(), telegramRoom)
	form := url.Values{
		"chat_id": {strconv.FormatInt(t.chat, 10)}, "parse_mode": {"HTML"}, "link_preview_options": {`{"is_disabled":true}`},
		"text": {"<b>" + html.EscapeString(clip(m.Title, 200)) + "</b>\n<pre>" + html.EscapeString(text) + "</pre>"},
	}
	rows := [][]map[string]string{}
	var row []map[string]string
	for _, action := range m.Actions {
		row = append(row, map[string]string{"text": strings.ToUpper(action[:1]) + action[1:], "callback_data": m.Key + ":" + action})
	}
	if row != nil {
		rows = append(rows, row)
	}
	if m.Over == "" && strings.HasPrefix(m.Link, "https://") { // Telegram refuses buttons that link to this machine
		rows = append(rows, []map[string]string{{"text": "Page", "url": m.Link}})
	}
	keyboard, err := json.Marshal(map[string]any{"inline_keyboard": rows})
	if err != nil {
		return "", err
	}
	form.Set("reply_markup", string(keyboard))

	t.mu.Lock()
	defer t.mu.Unlock()
	if now := time.Now(); now.Before(t.until) {
		return "", fmt.Errorf("telegram wants a pause of %s", t.until.Sub(now).Round(time.Second))
	}
	method := "sendMessage"
	id, err := strconv.Atoi(cmp.Or(where, "0"))
	if err != nil {
		return "", err
	}
	if where != "" {
		method = "editMessageText"
		form.Set("message_id", where)
	}
	var sent struct {
		ID int `json:"message_id"`
	}
	err = t.call(ctx, method, form, &sent)
	if pause, ok := errors.AsType[pauseError](err); ok {
		t.until = time.Now().Add(pause.wait)
	}
	if err != nil && (where == "" || !errors.Is(err, errRefused)) { // a message that was deleted, or shows this already, needs no change
		return "", err
	}
	if where == "" {
		id = sent.ID
	}
	if t.keys[id] = m.Key; m.Over != "" {
		t.keys[id] = ""
	}
	return strconv.Itoa(id), nil
}

type telegramUser struct {
	ID  int64 `json:"id"`
	Bot bool  `json:"is_bot"`
}

// name returns the number by which people are linked, which nobody else can take. It returns "" for bots and for nil.
func (u *telegramUser) name() string {
	if u == nil || u.Bot {
		return ""
	}
	return strconv.FormatInt(u.ID, 10)
}

type telegramMessage struct {
	ID   int   `json:"message_id"`
	Date int64 `json:"date"`
	Chat struct {
		ID int64 `json:"id"`
	} `json:"chat"`
	From    *telegramUser    `json:"from"`
	Text    string           `json:"text"`
	ReplyTo *telegramMessage `json:"reply_to_message"`
}

type telegramUpdate struct {
	ID      int64            `json:"update_id"`
	Message *telegramMessage `json:"message"`
	Press   *struct {
		ID      string           `json:"id"`
		From    *telegramUser    `json:"from"`
		Message *telegramMessage `json:"message"`
		Data    string           `json:"data"`
	} `json:"callback_query"`
}

// Listen polls for presses and messages until ctx ends.
func (t *Telegram) Listen(ctx context.Context, take func(Press) string) error {
	for ctx.Err() == nil {
		form := url.Values{
			"offset": {strconv.FormatInt(t.offset, 10)}, "timeout": {strconv.Itoa(int(pollTime.Seconds()))}, "allowed_updates": {`["message","callback_query"]`},
		}
		var updates []telegramUpdate
		poll, cancel := context.WithTimeout(ctx, pollTime+callTime)
		err := t.call(poll, "getUpdates", form, &updates)
		cancel()
		if err != nil {
			return err
		}
		for i := range updates {
			u := &updates[i]
			if u.ID < t.offset {
				continue
			}
			t.offset = u.ID + 1
			switch {
			case u.Press != nil && u.Press.Message != nil && u.Press.Message.Chat.ID == t.chat:
				key, action, _ := strings.Cut(u.Press.Data, ":")
				said := take(Press{Key: key, Action: action, User: u.Press.From.name()})
				t.tell(ctx, "answerCallbackQuery", url.Values{"callback_query_id": {u.Press.ID}, "text": {clip(said, 190)}})
			case u.Message != nil:
				t.wrote(ctx, u.Message, take)
			}
		}
	}
	return nil
}

// wrote handles commands and replies to questions, and ignores everything else.
func (t *Telegram) wrote(ctx context.Context, m *telegramMessage, take func(Press) string) {
	command, rest, _ := strings.Cut(strings.TrimSpace(m.Text), " ")
	command, _, _ = strings.Cut(command, "@") // in groups the bot's name follows the command
	var said string
	switch {
	case m.From.name() == "":
		return
	case command == "/start": // tells people what to write into the configuration
		t.newcomers.Do(func() {
			said = fmt.Sprintf("This chat is %d, and you are %s: to: %q, people: [\"%s=your name\"]", m.Chat.ID, m.From.name(), strconv.FormatInt(m.Chat.ID, 10), m.From.name())
		})
	case m.Chat.ID != t.chat:
		return
	case command == "/freeze":
		if said = "This came too late. Write it again."; time.Since(time.Unix(m.Date, 0)) < maxAge {
			said = take(Press{Action: Freeze, User: m.From.name(), Reason: strings.TrimSpace(rest)})
		}
	case m.ReplyTo != nil:
		t.mu.Lock()
		key, known := t.keys[m.ReplyTo.ID]
		t.mu.Unlock()
		if !known { // people talking to each other
			return
		}
		said = take(Press{Key: key, Action: Deny, User: m.From.name(), Reason: m.Text})
	default:
		return
	}
	if said == "" {
		return
	}
	t.tell(ctx, "sendMessage", url.Values{
		"chat_id": {strconv.FormatInt(m.Chat.ID, 10)}, "text": {said}, "reply_parameters": {fmt.Sprintf(`{"message_id":%d}`, m.ID)},
	})
}

// tell sends what became of an answer. The question itself shows how it ends.
func (t *Telegram) tell(ctx context.Context, method string, form url.Values) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	var sent json.RawMessage
	_ = t.call(ctx, method, form, &sent)
}
