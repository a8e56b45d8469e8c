// Package findings collects what is known of a text while it is read, and limits how far a text may expand.
package findings

import (
	"strconv"

	"callgate/shellparse/script"
)

// Limits for one text.
const (
	maxReparse = 128 << 10 // bytes of strings parsed again
	maxValues  = 1 << 20   // total bytes that variables, patterns and paths expand to
	maxPoisons = 64        // effects of the text on all of its commands
)

// Findings holds what is known of a text so far, and what remains of its limits.
type Findings struct {
	Script  *script.Script
	poisons []script.Effect // effects of assignments on every command
	reparse int             // bytes of literal strings that may still be parsed
	values  int             // bytes that the text may still expand to
}

// New returns empty findings for a text.
func New(text string) *Findings {
	return &Findings{Script: &script.Script{Text: text}, reparse: maxReparse, values: maxValues}
}

// Problem records why the text cannot be known. It ignores repeats.
func (a *Findings) Problem(code, text string) {
	for _, p := range a.Script.Problems {
		if p.Code == code && p.Text == text {
			return
		}
	}
	a.Script.Problems = append(a.Script.Problems, script.Problem{Code: code, Text: text})
}

// Reparse takes n bytes from the budget for parsing strings. If that exceeds it, it reports a problem and returns
// false.
func (a *Findings) Reparse(n int) bool {
	if a.reparse -= n; a.reparse < 0 {
		a.Problem("too-long", "The strings that the text runs are too long.")
		return false
	}
	return true
}

// TryReparse is like Reparse, for text that may be skipped: it reports no problem.
func (a *Findings) TryReparse(n int) bool {
	if a.reparse < n {
		return false
	}
	a.reparse -= n
	return true
}

// Spend takes n bytes from the budget for expansions: a few doublings of a variable would fill the memory. If too
// little is left, it reports a problem and returns false.
func (a *Findings) Spend(n int) bool {
	if a.values < n {
		a.values = 0
		a.Problem("too-long", "The text expands to more than can be judged.")
		return false
	}
	a.values -= n
	return true
}

// Poison records an effect on every command of the text. Spread applies it.
func (a *Findings) Poison(text string) { AddEffect(&a.poisons, script.Effect{Text: text}) }

// Spread adds the poisons to all commands: loops and functions make it uncertain which commands follow an assignment.
func (a *Findings) Spread() {
	if len(a.poisons) > maxPoisons {
		a.Problem("too-long", "The text changes what its commands do in too many ways.")
		a.poisons = a.poisons[:maxPoisons]
	}
	for _, e := range a.poisons {
		for i := range a.Script.Commands {
			AddEffect(&a.Script.Commands[i].Effects, script.Effect{Text: e.Text})
		}
	}
}

// Quote quotes text for a sentence, shortened to 60 bytes.
func Quote(s string) string {
	if len(s) > 60 {
		s = s[:57] + "..."
	}
	return strconv.QuoteToASCII(s)
}
