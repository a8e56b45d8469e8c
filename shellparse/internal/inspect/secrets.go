package inspect

import (
	"strings"

	"callgate/shellparse/internal/walk"
	"callgate/shellparse/internal/word"
	"callgate/shellparse/programs"
)

// quiet lists programs that look at their words but never print them.
var quiet = word.Set("test true false : sleep exit return shift wait read unset export local declare typeset readonly getopts cd pushd let")

// shows records variables with credentials that a program shows: a program that prints its words or its input, or one
// that only looks at its words, which it shows at the latest when it complains about them.
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

// showsSetting records settings with credentials that a command shows.
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
