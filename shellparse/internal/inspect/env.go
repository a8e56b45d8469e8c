package inspect

import (
	"slices"
	"strings"

	"callgate/shellparse/internal/walk"
	"callgate/shellparse/internal/word"
)

// envFlags and envValues are the options of env without and with a value.
var (
	envFlags  = word.Set("-i --ignore-environment -0 --null -v --debug --list-signal-handling")
	envValues = word.Set("-u -C -P -L -U -a --unset --chdir --argv0")
)

// envStep is the meaning of one word of env.
type envStep int

const (
	envTaken   envStep = iota // an option: continue after it
	envEnd                    // no option: the variables and the program begin here
	envNothing                // an option without its value: env runs nothing
	envUnclear                // what runs is unclear
)

// runEnv unwraps env: its options, the string of -S, the variables.
func runEnv(a *walk.Walker, c *walk.Call) bool {
	at, step := 1, envTaken
	for at < len(c.Argv) && step == envTaken {
		at, step = envOption(a, c, at)
	}
	switch step {
	case envNothing:
		return false
	case envUnclear:
		a.Uncertain(c, 1)
		return true
	}
	argv := c.Argv
	at, env := assignments(a, c, at)
	if at >= len(argv) {
		return false
	}
	if !argv[at].Known && !argv[at].Safe() && at == 1 {
		a.Uncertain(c, 1)
		return true
	}
	inner := c.Inner(argv[at:], word.JoinTexts(argv[:at]))
	inner.Sc.Env = append(slices.Clip(inner.Sc.Env), env...)
	inner.Outer, inner.Sc.Base = nil, inner.Sc.Dirs // without a right PWD, a shell finds its directory behind links
	a.Run(inner)
	return true
}

// envOption reads the word at an index of env's arguments, and the next word if it is the option's value.
func envOption(a *walk.Walker, c *walk.Call, at int) (next int, step envStep) {
	w := c.Argv[at]
	if !w.Known && !w.Safe() {
		return at, envUnclear
	}
	t := w.Text
	switch {
	case w.Known && t == "-": // the same as -i
		return at + 1, envTaken
	case !w.Known || len(t) < 2 || t[0] != '-':
		return at, envEnd
	case t == "--":
		return at + 1, envEnd
	}
	return envLetters(a, c, at, t)
}

// envLetters is envOption for a word that is an option.
func envLetters(a *walk.Walker, c *walk.Call, at int, t string) (next int, step envStep) {
	name, val, has := strings.Cut(t, "=")
	switch {
	case envFlags[t] || word.HasPrefix(t, "--block-signal", "--ignore-signal", "--default-signal"):
		return at + 1, envTaken
	case envValues[t]:
		if at+1 >= len(c.Argv) {
			return at, envNothing
		}
		envValue(a, t, c.Argv[at+1], c)
		return at + 2, envTaken
	case has && (name == "--unset" || name == "--chdir" || name == "--argv0"):
		envValue(a, name, word.Lit(val), c)
		return at + 1, envTaken
	case strings.HasPrefix(t, "-u") || strings.HasPrefix(t, "-C"):
		envValue(a, t[:2], word.Lit(t[2:]), c)
		return at + 1, envTaken
	case t == "-S" || name == "--split-string" || splitsString(t):
		return at, envSplit(c, at)
	}
	return at, envUnclear
}

// envSplit replaces the option -S by the words of its string.
func envSplit(c *walk.Call, at int) envStep {
	t := c.Argv[at].Text
	_, s, _ := strings.Cut(t, "=")
	next := at + 1
	switch {
	case strings.HasPrefix(t, "--split-string="):
	case t == "-S" || t == "--split-string":
		if next >= len(c.Argv) {
			return envNothing
		}
		if !c.Argv[next].Known {
			return envUnclear
		}
		s, next = c.Argv[next].Text, at+2
	default:
		s = t[strings.IndexByte(t, 'S')+1:]
		if s == "" && next < len(c.Argv) {
			if !c.Argv[next].Known {
				return envUnclear
			}
			s, next = c.Argv[next].Text, at+2
		}
	}
	words, ok := splitString(s)
	if !ok {
		return envUnclear
	}
	c.Argv = slices.Concat(c.Argv[:at], words, c.Argv[next:])
	return envTaken
}

// splitsString reports whether bundled short options of env contain -S.
func splitsString(t string) bool {
	i := strings.IndexByte(t, 'S')
	return i > 0 && !strings.HasPrefix(t, "--") && strings.Trim(t[1:i], "iv0") == ""
}

// envValue records what an option of env with a value does.
func envValue(a *walk.Walker, name string, v word.Word, c *walk.Call) {
	switch name {
	case "-C", "--chdir":
		chdir(a, v, c)
	case "-P", "-a", "--argv0":
		c.Effect("option " + name)
	}
}

// envEscapes maps the escapes of env -S to their characters. \_ separates words if it is not quoted.
var envEscapes = map[byte]byte{'_': ' ', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t', 'v': '\v', '"': '"', '\'': '\'', '\\': '\\'}

// splitString splits a string as env -S does. It gives up on variables and comments.
func splitString(s string) ([]word.Word, bool) {
	if strings.ContainsAny(s, "$#") {
		return nil, false
	}
	var words []word.Word
	var b []byte
	in, quote := false, byte(0)
	for i := 0; i < len(s); i++ {
		switch ch := s[i]; {
		case ch == '\\' && quote != '\'':
			if i++; i == len(s) {
				return nil, false
			}
			e, ok := envEscapes[s[i]]
			switch {
			case s[i] == '_' && quote == 0:
				if in {
					words, b, in = append(words, word.Lit(string(b))), nil, false
				}
			case ok:
				b, in = append(b, e), true
			default:
				return nil, false // the end of the text, or an error
			}
		case quote != 0:
			if ch == quote {
				quote = 0
			} else {
				b = append(b, ch)
			}
		case ch == '\'' || ch == '"':
			quote, in = ch, true
		case word.Blank(ch):
			if in {
				words, b, in = append(words, word.Lit(string(b))), nil, false
			}
		default:
			b, in = append(b, ch), true
		}
	}
	if quote != 0 {
		return nil, false
	}
	if in {
		words = append(words, word.Lit(string(b)))
	}
	return words, true
}
