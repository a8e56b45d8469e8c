package shellparse

import (
	"slices"
	"strings"
)

// envFlags and envValues are the options of env without and with a value.
var (
	envFlags  = set("-i --ignore-environment -0 --null -v --debug --list-signal-handling")
	envValues = set("-u -C -P -L -U -a --unset --chdir --argv0")
)

// envStep is what a word of env is.
type envStep int

const (
	envTaken   envStep = iota // an option: go on behind it
	envEnd                    // no option: the variables and the program begin here
	envNothing                // an option without its value: env runs nothing
	envUnclear                // nobody can say what runs
)

// runEnv unwraps env: its options, the string of -S, the variables.
func runEnv(a *analysis, c *call) bool {
	at, step := 1, envTaken
	for at < len(c.argv) && step == envTaken {
		at, step = a.envOption(c, at)
	}
	switch step {
	case envNothing:
		return false
	case envUnclear:
		a.uncertain(c, 1)
		return true
	}
	argv := c.argv
	at, env := a.assignments(c, at)
	if at >= len(argv) {
		return false
	}
	if !argv[at].known && !argv[at].safe() && at == 1 {
		a.uncertain(c, 1)
		return true
	}
	inner := c.inner(argv[at:], texts(argv[:at]))
	inner.sc.env = append(slices.Clip(inner.sc.env), env...)
	inner.outer = nil
	a.run(inner)
	return true
}

// envOption reads the word at a place of env's arguments, and what stands behind it if it is an option with a value.
func (a *analysis) envOption(c *call, at int) (next int, step envStep) {
	w := c.argv[at]
	if !w.known && !w.safe() {
		return at, envUnclear
	}
	t := w.text
	switch {
	case w.known && t == "-": // the same as -i
		return at + 1, envTaken
	case !w.known || len(t) < 2 || t[0] != '-':
		return at, envEnd
	case t == "--":
		return at + 1, envEnd
	}
	return a.envLetters(c, at, t)
}

// envLetters is envOption for an option.
func (a *analysis) envLetters(c *call, at int, t string) (next int, step envStep) {
	name, val, has := strings.Cut(t, "=")
	switch {
	case envFlags[t] || hasPrefix(t, "--block-signal", "--ignore-signal", "--default-signal"):
		return at + 1, envTaken
	case envValues[t]:
		if at+1 >= len(c.argv) {
			return at, envNothing
		}
		a.envValue(t, c.argv[at+1], c)
		return at + 2, envTaken
	case has && (name == "--unset" || name == "--chdir" || name == "--argv0"):
		a.envValue(name, lit(val), c)
		return at + 1, envTaken
	case strings.HasPrefix(t, "-u") || strings.HasPrefix(t, "-C"):
		a.envValue(t[:2], lit(t[2:]), c)
		return at + 1, envTaken
	case t == "-S" || name == "--split-string" || splitsString(t):
		return at, envSplit(c, at)
	}
	return at, envUnclear
}

// envSplit puts the words of the string of -S in the place of the option.
func envSplit(c *call, at int) envStep {
	t := c.argv[at].text
	_, s, _ := strings.Cut(t, "=")
	next := at + 1
	switch {
	case strings.HasPrefix(t, "--split-string="):
	case t == "-S" || t == "--split-string":
		if next >= len(c.argv) {
			return envNothing
		}
		if !c.argv[next].known {
			return envUnclear
		}
		s, next = c.argv[next].text, at+2
	default:
		s = t[strings.IndexByte(t, 'S')+1:]
		if s == "" && next < len(c.argv) {
			s, next = c.argv[next].text, at+2
		}
	}
	words, ok := splitString(s)
	if !ok {
		return envUnclear
	}
	c.argv = slices.Concat(c.argv[:at], words, c.argv[next:])
	return envTaken
}

// splitsString says that bundled short options of env end in -S.
func splitsString(t string) bool {
	i := strings.IndexByte(t, 'S')
	return i > 0 && !strings.HasPrefix(t, "--") && strings.Trim(t[1:i], "iv0") == ""
}

// envValue notes what an option of env with a value does.
func (a *analysis) envValue(name string, v word, c *call) {
	switch name {
	case "-C", "--chdir":
		a.chdir(v, c)
	case "-P", "-a", "--argv0":
		c.effect("option " + name)
	}
}

// envEscapes are the escapes of env -S; \_ separates words where it is not quoted.
var envEscapes = map[byte]byte{'_': ' ', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t', 'v': '\v', '"': '"', '\'': '\'', '\\': '\\'}

// splitString splits as env -S does, and gives up on variables and comments.
func splitString(s string) ([]word, bool) {
	if strings.ContainsAny(s, "$#") {
		return nil, false
	}
	var words []word
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
					words, b, in = append(words, lit(string(b))), nil, false
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
		case blank(ch):
			if in {
				words, b, in = append(words, lit(string(b))), nil, false
			}
		default:
			b, in = append(b, ch), true
		}
	}
	if quote != 0 {
		return nil, false
	}
	if in {
		words = append(words, lit(string(b)))
	}
	return words, true
}
