package console

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"callgate/internal/companion/wire"
	"callgate/internal/visible"
)

// How much of the arguments is shown before a person asks for all of them.
const (
	shownLines = 60
	shownBytes = 8 << 10
)

// show describes an approval for a terminal. Every string in it goes through visible.Text or wire.Quoted: it may come
// from the model or an upstream, and must not move the cursor, imitate another part of the display, or hide. whole
// shows arguments of any size; complete reports whether all of them were shown.
func show(f *wire.ToolApproveRequest, now time.Time, whole bool) (text string, complete bool) {
	var b strings.Builder
	fmt.Fprintf(&b, "\n── %s ──\n", visible.Text(f.Tool))
	fmt.Fprintf(&b, "Server %s, session %s, agent %s, worker %s, %s left\n",
		visible.Text(f.Server), visible.Text(f.SessionID), visible.Text(f.AgentID), visible.Text(f.WorkerID), left(f, now))
	fmt.Fprintf(&b, "Risk   %s: %s", strings.ToUpper(visible.Text(f.Risk.Label)), wire.RiskWords(f.Risk.Class))
	if f.Risk.Category != "" {
		fmt.Fprintf(&b, " (%s)", visible.Text(f.Risk.Category))
	}
	b.WriteByte('\n')
	section(&b, "What   ", visible.Text(f.Summary))
	section(&b, "Why    ", visible.Text(f.Reason))
	for _, m := range f.Marks {
		fmt.Fprintf(&b, "!      %s\n", visible.Text(m.Text))
	}
	if f.Rewritten != nil {
		fmt.Fprintf(&b, "!      The hook %s changed the arguments. They came as %s\n", visible.Text(f.Rewritten.By), visible.Text(string(f.Rewritten.Original)))
	}
	complete = showArguments(&b, f.Args, whole)
	for i, c := range f.Commands {
		if i == 0 {
			b.WriteString("Runs\n")
		}
		fmt.Fprintf(&b, "  %s\n", wire.CommandText(c))
	}
	for i, r := range f.Reasons {
		if i == 0 {
			b.WriteString("Rules\n")
		}
		rule := cmp.Or(r.Rule, r.Action+" by "+r.Layer)
		fmt.Fprintf(&b, "  %s: %s\n", visible.Text(r.Subject), visible.Text(rule))
	}
	for i, o := range f.Always {
		if i == 0 {
			b.WriteString("“Always” can allow\n")
		}
		fmt.Fprintf(&b, "  %d. %s, at worst: %s", i+1, o.Allows(), wire.RiskWords(o.Risk))
		if o.Default {
			b.WriteString(" (default)")
		}
		b.WriteByte('\n')
	}
	return b.String(), complete
}

func section(b *strings.Builder, title, text string) {
	if text != "" {
		b.WriteString(title + text + "\n")
	}
}

// showArguments writes the lines of wire.Readable, indented. It reports whether it wrote all of them.
func showArguments(b *strings.Builder, args json.RawMessage, whole bool) (complete bool) {
	b.WriteString("Arguments\n")
	size := 0
	for shown, line := range wire.Readable(args) {
		if size += len(line) + 2; !whole && (shown >= shownLines || size > shownBytes) {
			fmt.Fprintf(b, "  … and more, %d bytes in all. Type v to see everything, then answer.\n", len(args))
			return false
		}
		b.WriteString("  " + line + "\n")
	}
	return true
}

// left returns the time until the call is denied.
func left(f *wire.ToolApproveRequest, now time.Time) string {
	seconds := max(0, int(f.ExpiresAt.Sub(now).Seconds()))
	return strconv.Itoa(seconds) + " s"
}
