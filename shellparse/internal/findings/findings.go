// Package findings collects what is known of a text while it is read, and bounds how much a text may expand to.
package findings

import (
	"strconv"

	"callgate/shellparse/script"
)

// Caps on what is made of one text.
const (
	maxReparse = 128 << 10 // bytes of strings that are parsed again
	maxValues  = 1 << 20   // bytes that variables, patterns and paths expand to in all
	maxPoisons = 64        // effects of a text on all of its commands
)

// Findings are what is known of a text so far, and how much may still be taken from it.
type Findings struct {
	Script  *script.Script
	poisons []script.Effect // effects of assignments on every command that follows them, or runs beside them
	reparse int             // bytes of literal strings that may still be parsed
	values  int             // bytes of values that the text may still make of itself
}

// New returns the findings of a text that nobody has looked at.
func New(text string) *Findings {
	return &Findings{Script: &script.Script{Text: text}, reparse: maxReparse, values: maxValues}
}

// Problem notes why the text cannot be known.
func (a *Findings) Problem(code, text string) {
	for _, p := range a.Script.Problems {
		if p.Code == code && p.Text == text {
			return
		}
	}
	a.Script.Problems = append(a.Script.Problems, script.Problem{Code: code, Text: text})
}

// Reparse takes from what may still be parsed of strings. It returns false after reporting a problem when nothing is
// left.
func (a *Findings) Reparse(n int) bool {
	if a.reparse -= n; a.reparse < 0 {
		a.Problem("too-long", "The strings that the text runs are too long.")
		return false
	}
	return true
}

// Affords is Reparse for text that may be left out. It reports no problem.
func (a *Findings) Affords(n int) bool {
	if a.reparse < n {
		return false
	}
	a.reparse -= n
	return true
}

// Spend takes from what the text may make of itself: a few doublings of a variable would fill the memory. It
// returns false after reporting a problem when nothing is left.
func (a *Findings) Spend(n int) bool {
	if a.values < n {
		a.values = 0
		a.Problem("too-long", "The text expands to more than can be judged.")
		return false
	}
	a.values -= n
	return true
}

// Poison notes an effect on every command that follows, or runs beside it.
func (a *Findings) Poison(text string) { AddEffect(&a.poisons, script.Effect{Text: text}) }

// Spread adds what the text assigns for all of its commands: which of them come after is not certain in
// loops and functions, so that all of them carry it.
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

// Quote renders text for a sentence.
func Quote(s string) string {
	if len(s) > 60 {
		s = s[:57] + "..."
	}
	return strconv.QuoteToASCII(s)
}
