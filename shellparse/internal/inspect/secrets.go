package inspect

import (
	"strings"

	"callgate/shellparse/internal/walk"
	"callgate/shellparse/internal/word"
	"callgate/shellparse/programs"
)

// quiet are programs that only look at their words.
var quiet = word.Set("test true false : sleep exit return shift wait read unset export local declare typeset readonly getopts cd pushd let")

// shows notes variables with credentials that a program shows: one that prints its words or what it reads, and one that
// only looks, which shows its words at the latest when it complains about them.
func shows(a *walk.Walker, row *programs.Row, c *walk.Call) {
	reader := row != nil && (row.Operands == "r" || row.Operands == "1r") || c.Is(programs.Prints)
	if !reader {
		looks := c.Facts().Risk == programs.ReadOnly || len(c.Argv) > 1 && programs.Find(c.Name, c.Argv[1].Text).Risk == programs.ReadOnly
		if !looks || quiet[c.Name] || c.Name == "[" {
			return
		}
	}
	for _, w := range c.Argv[1:] {
		if w.Known {
			continue
		}
		if name := a.Shell.SecretIn(w.Text); name != "" {
			c.EffectAt("shows the variable "+name, w)
		}
	}
	if in := c.Sc.Input; reader && in.Kind == word.InputText && !in.Text.Known {
		if name := a.Shell.SecretIn(in.Text.Text); name != "" {
			c.Effect("shows the variable " + name)
		}
	}
}

// showsSetting notes settings with credentials that a command shows.
func showsSetting(c *walk.Call) {
	if len(c.Argv) < 3 || !programs.Find(c.Name, c.Argv[1].Text).Has(programs.ReadsSettings) {
		return
	}
	for _, w := range c.Argv[2:] {
		if w.Known && !strings.HasPrefix(w.Text, "-") && (word.SecretName(w.Text) || w.Text == "aws_access_key_id") {
			c.EffectAt("shows the setting "+w.Text, w)
		}
	}
}
