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

// runEnv unwraps env: its options, the string of -S, the variables.
func runEnv(a *analysis, c *call) bool {
	at := 1
	argv := c.argv
	for at < len(argv) {
		w := argv[at]
		if !w.known && !w.safe() {
			a.uncertain(c, 1)
			return true
		}
		t := w.text
		if w.known && t == "-" { // the same as -i
			at++
			continue
		}
		if !w.known || len(t) < 2 || t[0] != '-' {
			break
		}
		if t == "--" {
			at++
			break
		}
		name, val, has := strings.Cut(t, "=")
		switch {
		case envFlags[t] || hasPrefix(t, "--block-signal", "--ignore-signal", "--default-signal"):
			at++
			continue
		case envValues[t]:
			if at+1 >= len(argv) {
				return false
			}
			a.envOption(t, argv[at+1], c)
			at += 2
			continue
		case has && (name == "--unset" || name == "--chdir" || name == "--argv0"):
			a.envOption(name, lit(val), c)
			at++
			continue
		case strings.HasPrefix(t, "-u") || strings.HasPrefix(t, "-C"):
			a.envOption(t[:2], lit(t[2:]), c)
			at++
			continue
		case t == "-S" || t == "--split-string" || has && name == "--split-string" || splitsString(t):
			s, next := val, at+1
			switch {
			case has && name == "--split-string":
			case t == "-S" || t == "--split-string":
				if at+1 >= len(argv) {
					return false
				}
				if !argv[at+1].known {
					a.uncertain(c, 1)
					return true
				}
				s, next = argv[at+1].text, at+2
			default:
				s = t[strings.IndexByte(t, 'S')+1:]
				if s == "" && at+1 < len(argv) {
					s, next = argv[at+1].text, at+2
				}
			}
			words, ok := splitString(s)
			if !ok {
				a.uncertain(c, 1)
				return true
			}
			argv = slices.Concat(argv[:at], words, argv[next:])
			c.argv = argv
			continue
		default:
			a.uncertain(c, 1)
			return true
		}
	}
	c.argv = argv
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

// splitsString says that bundled short options of env end in -S.
func splitsString(t string) bool {
	i := strings.IndexByte(t, 'S')
	return i > 0 && !strings.HasPrefix(t, "--") && strings.Trim(t[1:i], "iv0") == ""
}

func (a *analysis) envOption(name string, v word, c *call) {
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
