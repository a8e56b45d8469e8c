package inspect

import (
	"strings"

	"callgate/shellparse/internal/walk"
	"callgate/shellparse/internal/word"
)

// psValues lists the letters of ps that take the rest of the word, or the next word, as their value.
const psValues = "oOkptqUNgG"

// psShowsEnvironment reports whether letters after a dash ask ps for environments.
func psShowsEnvironment(letters string) bool {
	if !strings.Contains(letters, "E") && !(strings.Contains(letters, "e") && strings.ContainsAny(letters, "xu")) {
		return false
	}
	i := strings.IndexAny(letters, psValues+"u")
	return i < 0 || strings.ContainsAny(letters[:i], "eE") || letters[i] == 'u' && strings.ContainsAny(letters[i:], "eE")
}

// psFlags lists the long options of ps that take no value.
var psFlags = map[string]bool{"-forest": true, "-no-headers": true, "-headers": true, "-help": true, "-version": true}

// inspectPs records that ps is asked for environments: e in the letters without a dash, E with one. ps reads letters
// with a dash that make no sense as letters without one.
func inspectPs(_ *walk.Walker, c *walk.Call, _ *word.Scanned) {
	skip := false
	for _, w := range c.Argv[1:] {
		letters, dash := strings.CutPrefix(w.Text, "-")
		if strings.Contains(w.Text, "environ") { // a column
			c.Effect("prints the environment")
		}
		switch {
		case skip:
			skip = false
			continue
		case dash && strings.HasPrefix(letters, "-"):
			name, _, attached := strings.Cut(letters, "=")
			skip = !attached && !psFlags[name]
			continue
		case !w.Known && !w.Safe():
			c.Effect("word " + w.Text)
			continue
		}
		if dash && psShowsEnvironment(letters) {
			c.Effect("prints the environment")
		}
		values := psValues
		if dash {
			values += "uC"
		}
		for i := 0; i < len(letters); i++ {
			if strings.IndexByte(values, letters[i]) >= 0 {
				skip = i == len(letters)-1
				break
			}
			if letters[i] == 'e' && !dash {
				c.Effect("prints the environment")
			}
		}
	}
}
