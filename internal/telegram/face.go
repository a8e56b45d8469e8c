package telegram

import (
	"fmt"
	"html"
	"strings"
	"unicode/utf16"

	"github.com/go-telegram/bot/models"

	"callgate/internal/companion/wire"
	"callgate/internal/visible"
)

// What a message has room for, in UTF-16 units as Telegram counts them; it takes 4096 in all.
const (
	roomArguments = 2200
	roomCommands  = 600
	roomOffers    = 400
	roomMarks     = 300
	roomLine      = 200
)

// Actions of buttons.
const (
	actionApprove = "approve"
	actionDeny    = "deny"
	actionAlways  = "always"
	actionSession = "session"
	actionWorker  = "worker"
	actionBack    = "back"
)

// face is what a message shows: HTML as Telegram reads it, and rows of buttons.
type face struct {
	html string
	rows [][]models.InlineKeyboardButton
}

// String tells two faces apart.
func (f face) String() string { return fmt.Sprint(f.html, f.rows) }

// actions are what its buttons do.
func (f face) actions() (names []string) {
	for _, row := range f.rows {
		for _, b := range row {
			_, action, _ := strings.Cut(b.CallbackData, ":")
			names = append(names, action)
		}
	}
	return names
}

// face composes the message. Every string of a request may come from a model or an upstream: it is made
// visible, cut to its room, and escaped.
func (q *question) face() face {
	var b strings.Builder
	f := q.request
	whole := true
	part := func(text string, room int) string {
		short, complete := clip(text, room)
		whole = whole && complete
		return html.EscapeString(short)
	}
	line := func(text string) string {
		short, _ := clip(visible.Text(text), roomLine)
		return html.EscapeString(short)
	}

	fmt.Fprintf(&b, "%s <b>%s</b>\n", sign(f.Risk.Label), line(f.Tool))
	fmt.Fprintf(&b, "Risk %s: %s\n", strings.ToUpper(line(f.Risk.Label)), html.EscapeString(wire.RiskWords(f.Risk.Class)))
	fmt.Fprintf(&b, "Server %s, session %s, agent %s, worker %s\n", line(f.Server), line(f.SessionID), line(f.AgentID), line(f.WorkerID))
	if f.Summary != "" {
		fmt.Fprintf(&b, "%s\n", line(f.Summary))
	}
	fmt.Fprintf(&b, "<i>%s</i>\n", line(f.Reason))
	if marks := texts(f.Marks, func(m wire.Mark) string { return "⚠ " + visible.Text(m.Text) }); marks != "" {
		fmt.Fprintf(&b, "%s\n", part(marks, roomMarks))
	}
	fmt.Fprintf(&b, "<pre>%s</pre>\n", part(strings.Join(wire.Readable(f.Args), "\n"), roomArguments))
	if commands := texts(f.Commands, wire.CommandText); commands != "" {
		fmt.Fprintf(&b, "Runs\n<pre>%s</pre>\n", part(commands, roomCommands))
	}
	offered, complete := clip(texts(defaults(f), wire.Offer.Allows), roomOffers)
	if offered != "" && complete && whole && q.over == "" {
		fmt.Fprintf(&b, "Always would allow\n<pre>%s</pre>\n", html.EscapeString(offered))
	}
	switch {
	case q.over != "":
		fmt.Fprintf(&b, "<b>%s</b>", line(q.over))
		return face{html: b.String()}
	case f.DefinitionChanged != nil:
		whole = false
		b.WriteString("The tool's definition is not the one that was accepted. Look at the change on the page, or deny the call here.\n")
	case !whole:
		fmt.Fprintf(&b, "✂ Cut: the arguments have %d bytes. What is not shown whole can only be denied here; the page and the terminal show all of it.\n", len(f.Args))
	}
	if q.note != "" {
		fmt.Fprintf(&b, "<b>%s</b>\n", line(q.note))
	}
	fmt.Fprintf(&b, "Waits until %s UTC. A reply to this message denies the call and goes to the model.", f.ExpiresAt.UTC().Format("15:04:05"))
	return face{b.String(), q.buttons(whole, offered != "" && complete)}
}

func (q *question) buttons(whole, always bool) [][]models.InlineKeyboardButton {
	button := func(text, action string) models.InlineKeyboardButton {
		return models.InlineKeyboardButton{Text: text, CallbackData: q.key + ":" + action}
	}
	switch {
	case !whole:
		return [][]models.InlineKeyboardButton{{button("Deny", actionDeny)}}
	case q.scopes:
		return [][]models.InlineKeyboardButton{
			{button("Always, in this session", actionSession)},
			{button("Always, for this worker", actionWorker)},
			{button("Back", actionBack), button("Deny", actionDeny)},
		}
	}
	row := []models.InlineKeyboardButton{button("Approve", actionApprove)}
	if always {
		row = append(row, button("Always …", actionAlways))
	}
	return [][]models.InlineKeyboardButton{append(row, button("Deny", actionDeny))}
}

// defaults are the offers that an "always" without a choice takes.
func defaults(f *wire.ToolApproveRequest) (offers []wire.Offer) {
	for _, o := range f.Always {
		if o.Default {
			offers = append(offers, o)
		}
	}
	return offers
}

// texts writes one item a line.
func texts[T any](items []T, text func(T) string) string {
	lines := make([]string, len(items))
	for i, item := range items {
		lines[i] = text(item)
	}
	return strings.Join(lines, "\n")
}

// sign is the colour of a risk, beside its words.
func sign(label string) string {
	switch label {
	case "low":
		return "🟢"
	case "medium":
		return "🟡"
	case "high":
		return "🟠"
	}
	return "🔴"
}

// ending says how an approval ended.
func ending(f *wire.ToolApproveResolved) string {
	words := map[string]string{
		"approve": "✅ Approved by ", "always": "✅ Approved, always, by ", "reject": "⛔ Denied by ",
		"timeout": "⌛ Nobody answered in time: denied by ", "withdrawn": "Withdrawn by ",
	}
	word, ok := words[f.Decision]
	if !ok {
		word = "Over: " + f.Decision + " by "
	}
	return word + f.By
}

// clip cuts text to room UTF-16 units.
func clip(text string, room int) (short string, complete bool) {
	units := 0
	for i, r := range text {
		if units += utf16.RuneLen(r); units > room {
			return text[:i] + "…", false
		}
	}
	return text, true
}
