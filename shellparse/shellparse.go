// Package shellparse determines what a shell text would run, touch and hide, and what cannot be known.
//
// It does not judge. It reports every effective command at any depth, with its decoded words, its wrappers, its
// environment, and the files it reads and writes. It also reports what it cannot see: callers MUST treat a Script with
// Problems as text that no rule may allow.
package shellparse

import (
	"slices"
	"strings"

	"callgate/shellparse/internal/inspect"
	"callgate/shellparse/internal/parse"
	"callgate/shellparse/internal/walk"
	"callgate/shellparse/programs"
	"callgate/shellparse/script"
	"callgate/shellparse/tables"
)

// These types describe a text. They are documented in package script.
type (
	Script     = script.Script
	Problem    = script.Problem
	Command    = script.Command
	Effect     = script.Effect
	Word       = script.Word
	Assignment = script.Assignment
	File       = script.File
	Listing    = script.Listing
	Dialect    = script.Dialect
)

// The shells that may read the text.
const (
	Bash  = script.Bash
	POSIX = script.POSIX
	Zsh   = script.Zsh
)

// Whole means that only a rule without wildcards names an effect: "python3" alone, which runs its standard input.
const Whole = script.Whole

// These types describe programs and variables. They are documented in package tables.
type (
	Tables  = tables.Tables
	Program = tables.Program
	Wrapper = tables.Wrapper
	Env     = tables.Env
)

// NewTables returns the built-in tables with rows added. A row replaces a built-in row of the same name.
func NewTables(list []Program, wrappers []Wrapper, env []Env) (*Tables, error) {
	return tables.New(list, wrappers, env)
}

// Options say where and how the text would run. The zero value is bash in an unknown directory.
type Options struct {
	Dialect Dialect
	Dir     string  // absolute working directory, or "" if unknown
	Home    string  // the value of ~, or "" if unknown
	Tables  *Tables // what programs do with their words; nil means the built-in tables
}

// Parse determines what text would run, touch and hide. It never fails: Problems says what it cannot know. It is safe
// for concurrent use, and the result shares no memory with later calls.
func Parse(text string, o Options) *Script {
	known := o.Tables
	if known == nil {
		known = tables.Builtin()
	}
	w, sc := walk.New(text, walk.Setting{Dialect: o.Dialect, Dir: o.Dir, Home: o.Home, Tables: known, Runs: inspect.RunProgram, Looks: inspect.Inspect})
	if p := parse.Guard(text); p != nil {
		w.Found.Problem(p.Code, p.Text)
		w.Guess(text, sc)
		return w.Found.Script
	}
	w.Parse(text, sc)
	guessPassedText(w, sc)
	w.Found.Spread()
	return w.Found.Script
}

// guessPassedText adds, for denials, the commands in text that the script prints or passes on. It does so only if the
// script also runs an unknown text, because that may be the same text.
func guessPassedText(w *walk.Walker, sc *walk.Scope) {
	startup := func(e Effect) bool { return e.Text == "env BASH_ENV" || e.Text == "env ENV" }
	if !slices.ContainsFunc(w.Found.Script.Problems, func(p Problem) bool { return p.Code == "dynamic" }) &&
		!slices.ContainsFunc(w.Found.Script.Commands, func(c Command) bool { return slices.ContainsFunc(c.Effects, startup) }) {
		return
	}
	for i, n := 0, len(w.Found.Script.Commands); i < n; i++ {
		c := &w.Found.Script.Commands[i]
		if len(c.Argv) == 0 || c.DenyOnly && !programs.Find(c.Argv[0].Value).Has(programs.Control) {
			continue
		}
		texts := []string{c.Input.Value}
		if name := c.Argv[0].Value; (name == "echo" || name == "printf") && len(c.Argv) > 1 {
			args := Command{Argv: c.Argv[1:]}
			texts = append(texts, args.Text())
		}
		for _, text := range texts {
			if text != "" && w.Found.TryReparse(len(text)) {
				w.Guess(strings.NewReplacer(`\n`, "\n", "%s", " ").Replace(text), sc)
			}
		}
	}
}
