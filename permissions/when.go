package permissions

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// When is a condition of a rule. All its parts must hold; the zero value always holds. It is compared with ==.
type When struct {
	Carries string // "private" or "secret": an argument holds text of such a result. It holds only if that is known
	From    string // "untrusted": a destination, command, package or amount is known only from such results; it holds only if that is known

	After    Past          // such a call of the session ended without an error
	NotAfter Past          // no such call was allowed to run; with After: none since the last call of After
	Count    Past          // how many such calls were allowed to run within Within
	AtLeast  int           // lower bound of Count; 0 means none
	Below    int           // upper bound of Count, exclusive; 0 means none
	Within   time.Duration // how far After, NotAfter and Count look back; 0 means to the beginning of the session
	Hours    Hours
	Host     string // a glob over the host's own name
	Agent    string // a glob over the agent profile
	Branch   string // a glob over the branch checked out in the workspace
	Person   string // Present or Away
}

// Past names calls of the session: of tools that match Tool, with a value that matches Pattern ("" for any).
type Past struct{ Tool, Pattern string }

// The values of When.Person: whether a person has done anything at the gate, such as answering, within PresentFor.
const (
	Present = "present"
	Away    = "away"

	PresentFor = 15 * time.Minute
)

// maxWithin limits how far a condition looks back.
const maxWithin = 24 * time.Hour

// Circumstances is what conditions look at besides the subject. An unknown member has its zero value: then no allow
// holds by it, and every deny and confirm does. An ask then lifts no deny, and still keeps calls from running.
type Circumstances struct {
	Host, Agent, Branch string
	Answered            time.Time // when a person last did something; if Known, the zero time means never
	Known               bool      // Answered is known
	// Past calls yield for each subject that the session was allowed to run, newest first, and returns the time from
	// which this list is complete. It is nil if nothing is known.
	Past func(yield func(*PastCall) bool) (whole time.Time)
}

// PastCall is one subject of a call that was allowed to run.
type PastCall struct {
	At     time.Time // when it began
	Ended  time.Time // zero while it runs
	Tool   string
	Kind   string
	Bound  bool // see Subject.KindBound
	Values Form // in all spellings; nil if there is no value, or it was too long to keep
	Long   bool // the value was too long to keep
	Sure   bool // it succeeded if the call did; false if only other commands of a list may have succeeded
	Done   bool // the call ended without an error
}

// condition is a compiled When.
type condition struct {
	after, notAfter, count *pastPattern
	host, agent, branch    *Glob
}

type pastPattern struct {
	tool  *Glob
	value *Glob // nil matches every value
}

func (p Past) compile() (*pastPattern, error) {
	if p == (Past{}) {
		return nil, nil
	}
	tool, err := CompileGlob(p.Tool)
	if err != nil {
		return nil, fmt.Errorf("tool %w", err)
	}
	c := &pastPattern{tool: tool}
	if p.Pattern != "" && p.Pattern != "*" {
		c.value, err = CompileGlob(p.Pattern)
	}
	return c, err
}

func (w *When) compile() (*condition, error) {
	if w.session() == (When{}) {
		return nil, nil
	}
	if err := w.check(); err != nil {
		return nil, err
	}
	c := new(condition)
	var err error
	for _, p := range []struct {
		name string
		from Past
		to   **pastPattern
	}{{"after", w.After, &c.after}, {"notAfter", w.NotAfter, &c.notAfter}, {"count", w.Count, &c.count}} {
		if *p.to, err = p.from.compile(); err != nil {
			return nil, fmt.Errorf("%q of a condition: %w", p.name, err)
		}
	}
	for _, g := range []struct {
		name, text string
		to         **Glob
	}{{"host", w.Host, &c.host}, {"agent", w.Agent, &c.agent}, {"branch", w.Branch, &c.branch}} {
		if g.text == "" {
			continue
		}
		if *g.to, err = CompileGlob(g.text); err != nil {
			return nil, fmt.Errorf("%q of a condition: %w", g.name, err)
		}
		if (*g.to).All() {
			return nil, fmt.Errorf("%q of a condition is %q, which is always true: leave it out", g.name, g.text)
		}
	}
	return c, nil
}

// check refuses conditions that always or never hold, and those that look back too far.
func (w *When) check() error {
	switch {
	case w.Within < 0 || w.Within > maxWithin:
		return fmt.Errorf(`"within" of a condition can be at most %s`, maxWithin)
	case w.Within != 0 && w.After == Past{} && w.NotAfter == Past{} && w.Count == Past{}:
		return fmt.Errorf(`"within" of a condition needs "after", "notAfter" or "count"`)
	case w.After != Past{} && w.After == w.NotAfter:
		return fmt.Errorf(`"after" and "notAfter" name the same calls`)
	case w.Person != "" && w.Person != Present && w.Person != Away:
		return fmt.Errorf(`"person" must be %q or %q`, Present, Away)
	}
	return w.checkCount()
}

func (w *When) checkCount() error {
	switch {
	case w.Count == Past{} && (w.AtLeast != 0 || w.Below != 0):
		return fmt.Errorf(`"atLeast" and "below" are members of "count"`)
	case w.Count != Past{} && w.AtLeast == 0 && w.Below == 0:
		return fmt.Errorf(`"count" needs "below" or "atLeast", which are 1 or more`)
	case w.AtLeast < 0 || w.Below < 0 || max(w.AtLeast, w.Below) > maxCount:
		return fmt.Errorf(`"below" and "atLeast" must be between 1 and %d`, maxCount)
	case w.Below != 0 && w.AtLeast >= w.Below:
		return fmt.Errorf(`"count" is never true: "atLeast" is not less than "below"`)
	}
	return nil
}

// maxCount limits the number that a condition can count to. Sessions remember more calls than that.
const maxCount = 100

// session returns the part of the condition that looks at circumstances.
func (w When) session() When {
	w.Carries, w.From = "", ""
	return w
}

// flow reports whether the condition looks at where values come from.
func (w When) flow() bool { return w.Carries != "" || w.From != "" }

// unmet returns why the rule's condition does not hold, or "" if it holds. known is false if that cannot be determined.
func (r *Rule) unmet(c *Context, s *Subject) (why string, known bool) {
	w := &r.When
	switch {
	case w.Carries != "" && !slices.Contains(s.Carries, w.Carries):
		return "it carries nothing " + w.Carries, true
	case w.From != "" && !slices.Contains(s.From, w.From):
		return "nothing of it is known to be from " + w.From + " results", true
	case r.condition == nil:
		return "", true
	}
	now := c.Session
	if now == nil {
		now = &Circumstances{}
	}
	var doubt string
	for _, part := range []func(*Rule, *Circumstances, time.Time) (string, bool){
		(*Rule).unmetHours, (*Rule).unmetNames, (*Rule).unmetPerson, (*Rule).unmetPast,
	} {
		why, known := part(r, now, c.Now)
		switch {
		case why != "" && known:
			return why, true
		case why != "" && doubt == "":
			doubt = why
		}
	}
	return doubt, doubt == ""
}

// applies reports whether the condition lets the rule match. If in doubt, only a rule that tightens matches.
func (r *Rule) applies(c *Context, s *Subject) bool {
	if r.condition == nil && !r.When.flow() {
		return true
	}
	why, known := r.unmet(c, s)
	return why == "" || !known && r.Action <= Confirm
}

// doubtful reports whether it cannot be determined if the condition holds.
func (r *Rule) doubtful(c *Context, s *Subject) bool {
	_, known := r.unmet(c, s)
	return !known
}

func (r *Rule) unmetHours(_ *Circumstances, now time.Time) (string, bool) {
	switch {
	case r.When.Hours == (Hours{}):
		return "", true
	case now.IsZero():
		return "the time is not known", false
	case !r.When.Hours.Hold(now.Local()):
		return "it is " + now.Local().Format("Mon 15:04"), true
	}
	return "", true
}

func (r *Rule) unmetNames(c *Circumstances, _ time.Time) (doubt string, known bool) {
	for _, n := range []struct {
		what, name string
		glob       *Glob
	}{{"host", c.Host, r.condition.host}, {"agent", c.Agent, r.condition.agent}, {"branch", c.Branch, r.condition.branch}} {
		switch {
		case n.glob == nil:
		case n.name == "":
			doubt = "the " + n.what + " is not known"
		case !n.glob.Match(n.name):
			return "the " + n.what + " is " + n.name, true
		}
	}
	return doubt, doubt == ""
}

func (r *Rule) unmetPerson(c *Circumstances, now time.Time) (string, bool) {
	if r.When.Person == "" {
		return "", true
	}
	if !c.Known || now.IsZero() {
		return "nobody can tell whether a person is there", false
	}
	switch present := !c.Answered.IsZero() && now.Sub(c.Answered) < PresentFor; {
	case !present && r.When.Person == Present:
		return fmt.Sprintf("nobody has answered anything for %s", short(PresentFor)), true
	case present && r.When.Person == Away:
		return "a person is there", true
	}
	return "", true
}

func (r *Rule) unmetPast(c *Circumstances, now time.Time) (why string, known bool) {
	w, p := &r.When, r.condition
	if p.after == nil && p.notAfter == nil && p.count == nil {
		return "", true
	}
	if c.Past == nil || now.IsZero() {
		return "what the session did before is not known", false
	}
	f := r.findPast(c, now)
	switch {
	case p.after != nil && f.after.IsZero():
		return fmt.Sprintf("no %s ended well%s", w.After, w.back()), true
	case p.notAfter != nil && !f.not.IsZero() && (p.after == nil || !f.not.Before(f.after)):
		return fmt.Sprintf("%s ran at %s", w.NotAfter, f.not.Local().Format("15:04:05")), true
	case p.notAfter != nil && p.after == nil && f.forgotten:
		return "the session remembers no calls from so long ago", false
	case p.count != nil:
		return w.unmetCount(f.n, f.forgotten)
	}
	return "", true
}

// unmetCount returns why a condition on the number of calls does not hold. n is the number of remembered calls.
func (w *When) unmetCount(n int, forgotten bool) (why string, known bool) {
	switch {
	case w.Below > 0 && n >= w.Below:
		return fmt.Sprintf("%s ran %d times%s", w.Count, n, w.back()), true
	case forgotten && (w.Below > 0 || n < w.AtLeast):
		return "the session remembers no calls from so long ago", false
	case n < w.AtLeast:
		return fmt.Sprintf("%s ran %d times%s", w.Count, n, w.back()), true
	}
	return "", true
}

// foundPast is what findPast found among a session's earlier calls.
type foundPast struct {
	after     time.Time // when the last successful call of After began
	not       time.Time // when the last call of NotAfter ended
	n         int       // calls of Count
	forgotten bool      // the session may have made other calls
}

// findPast searches the session's earlier calls, the latest first.
func (r *Rule) findPast(c *Circumstances, now time.Time) (f foundPast) {
	w, p := &r.When, r.condition
	whole := c.Past(func(e *PastCall) bool {
		ended := e.Ended
		if ended.IsZero() {
			ended = now
		}
		if w.Within > 0 && now.Sub(ended) > w.Within {
			return true
		}
		if f.after.IsZero() && p.after != nil && e.Done && e.Sure && p.after.match(e, true) {
			f.after = e.At
		}
		if ended.After(f.not) && p.notAfter != nil && p.notAfter.match(e, false) {
			f.not = ended
		}
		if p.count != nil && p.count.match(e, false) {
			f.n++
		}
		return true
	})
	from := whole // how far back the condition looks
	if w.Within > 0 {
		from = now.Add(-w.Within)
	}
	f.forgotten = whole.After(from) || w.Within == 0 && !whole.IsZero()
	return f
}

// match reports whether the pattern covers an earlier call. surely is for rules that loosen: a guessed kind and a value
// that was not kept match only if it is false.
func (p *pastPattern) match(e *PastCall, surely bool) bool {
	if !p.tool.Match(e.Tool) && (e.Kind == "" || surely && !e.Bound || !p.tool.Match(e.Kind)) {
		return false
	}
	if p.value == nil {
		return true
	}
	return !surely && e.Long || slices.ContainsFunc(e.Values, p.value.Match)
}

func (w *When) back() string {
	if w.Within == 0 {
		return " in the session"
	}
	return " in the last " + short(w.Within)
}

// short formats a duration without trailing zeros.
func short(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

func (p Past) String() string {
	if p.Pattern == "" {
		return p.Tool
	}
	return p.Tool + " " + strconv.Quote(p.Pattern)
}

// String returns the condition as people read it, or "" if there is none.
func (w When) String() string {
	var parts []string
	say := func(held bool, format string, args ...any) {
		if held {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	say(w.Carries != "", "it carries %s", w.Carries)
	say(w.From != "", "it is from %s", w.From)
	say(w.After != Past{}, "%s ended well%s", w.After, w.back())
	switch {
	case w.NotAfter == Past{}:
	case w.After != Past{}:
		say(true, "no %s ran since", w.NotAfter)
	default:
		say(true, "no %s ran%s", w.NotAfter, w.back())
	}
	say(w.AtLeast > 0, "%s ran at least %d times%s", w.Count, w.AtLeast, w.back())
	say(w.Below > 0, "%s ran fewer than %d times%s", w.Count, w.Below, w.back())
	say(w.Hours != Hours{}, "it is %s", w.Hours)
	say(w.Host != "", "the host is %s", w.Host)
	say(w.Agent != "", "the agent is %s", w.Agent)
	say(w.Branch != "", "the branch is %s", w.Branch)
	say(w.Person == Present, "a person is there")
	say(w.Person == Away, "nobody is there")
	return strings.Join(parts, " and ")
}

// Hours is a part of the week, in local time. The zero value is the whole week.
type Hours struct {
	Days     uint8 // a bit for each weekday, Sunday the lowest; 0 means all
	From, To int16 // minutes of the day; equal means the whole day. If To is before From, it is on the next day
}

var weekdays = []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}

// ParseHours parses "Mon-Fri 09:00-18:00", "Sat,Sun" or "22:00-06:00".
func ParseHours(text string) (h Hours, err error) {
	wrong := fmt.Errorf(`%q is not a part of the week: write "Mon-Fri 09:00-18:00", "Sat,Sun" or "22:00-06:00"`, text)
	fields := strings.Fields(text)
	if len(fields) == 0 || len(fields) > 2 {
		return Hours{}, wrong
	}
	last := fields[len(fields)-1]
	hasTime := strings.Contains(last, ":")
	if len(fields) == 2 && !hasTime {
		return Hours{}, wrong
	}
	if hasTime {
		from, to, ok := strings.Cut(last, "-")
		a, errFrom := time.Parse("15:04", from)
		b, errTo := time.Parse("15:04", to)
		if to == "24:00" {
			b, errTo = time.Time{}, nil
		}
		if !ok || errFrom != nil || errTo != nil {
			return Hours{}, wrong
		}
		h.From, h.To = int16(a.Hour()*60+a.Minute()), int16(b.Hour()*60+b.Minute())
		fields = fields[:len(fields)-1]
	}
	if len(fields) == 1 {
		for part := range strings.SplitSeq(strings.ToLower(fields[0]), ",") {
			first, last, isRange := strings.Cut(part, "-")
			a, b := slices.Index(weekdays, first), slices.Index(weekdays, last)
			if !isRange {
				b = a
			}
			if a < 0 || b < 0 {
				return Hours{}, wrong
			}
			for day := a; ; day = (day + 1) % 7 {
				h.Days |= 1 << day
				if day == b {
					break
				}
			}
		}
	}
	if h.From == h.To && (h.Days == 0 || h.Days == 1<<7-1) {
		return Hours{}, fmt.Errorf("%q covers the whole week: leave it out", text)
	}
	return h, nil
}

// Hold reports whether a time, in its own location, is within the hours.
func (h Hours) Hold(t time.Time) bool {
	minute, day := int16(t.Hour()*60+t.Minute()), t.Weekday()
	if h.From != h.To {
		switch {
		case h.From < h.To && (minute < h.From || minute >= h.To):
			return false
		case h.From > h.To && minute < h.To:
			day = (day + 6) % 7 // the night began on the day before
		case h.From > h.To && minute < h.From:
			return false
		}
	}
	return h.Days == 0 || h.Days>>day&1 == 1
}

func (h Hours) String() string {
	var parts []string
	if h.Days != 0 {
		var days []string
		for day := range 7 {
			if at := (day + 1) % 7; h.Days>>at&1 == 1 {
				days = append(days, strings.ToUpper(weekdays[at][:1])+weekdays[at][1:])
			}
		}
		parts = append(parts, strings.Join(days, ","))
	}
	if h.From != h.To {
		parts = append(parts, fmt.Sprintf("%02d:%02d-%02d:%02d", h.From/60, h.From%60, h.To/60, h.To%60))
	}
	return strings.Join(parts, " ")
}
