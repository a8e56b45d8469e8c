package shellparse

import (
	"os/exec"
	"slices"
	"testing"
)

// TestConcludes checks Concludes. It is false if a text can end differently from its command; bash shows whether the
// text can succeed all the same.
func TestConcludes(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Log("no bash: texts are not run")
	}
	for text, want := range map[string]bool{
		"false":                                true,
		"false # a comment":                    true,
		"false;":                               true,
		"CI=1 false 2>&1 >/dev/null":           true,
		"cd . && false":                        true,
		"cd . && cd . && CI=1 false":           true,
		"time false":                           true,
		"time -p false":                        true,
		"timeout 60 false":                     true,
		"env CI=1 nice -n 5 false":             true,
		"command false":                        true,
		"nohup stdbuf -oL false":               true,
		"false > >(cat)":                       true,
		"cd / || false":                        false,
		"false || true":                        false,
		"false || :":                           false,
		"false || exit 0":                      false,
		"false; true":                          false,
		"false\ntrue":                          false,
		"false &":                              false,
		"! false":                              false,
		"time ! false":                         false,
		"cd . && ! false":                      false,
		"cd . && false &":                      false,
		"cd . & false || true":                 false,
		"if false; then true; fi":              false,
		"while false; do true; done":           false,
		"false | true":                         false,
		"false |& cat":                         false,
		"{ false || true; }":                   false,
		"(false; true)":                        false,
		"exit 0 && false":                      false,
		"exit 0; false":                        false,
		"exec true && false":                   false,
		"true || false":                        false,
		"echo $(false)":                        false,
		"cd $(false)":                          false,
		"cat <(false)":                         false,
		"eval 'false; true'":                   false,
		"bash -c 'false; true'":                false,
		"sh -c 'false || true'":                false,
		"find . -maxdepth 0 -exec false \\;":   false,
		"trap 'exit 0' EXIT; false":            false,
		"trap 'exit 0' EXIT && false":          false,
		"false() { :; }; false":                false,
		"set +e; false; :":                     false,
		"timeout --help false":                 false,
		"timeout --version false":              false,
		"env --vers false":                     false,
		"timeout -p -s INT 1 false":            false,
		"timeout --pres 1 false":               false,
		"env -S 'timeout 5 false'":             true,
		"nice --help false":                    false,
		"command -v false":                     false,
		"setsid -f false":                      false,
		"case x in x) false;; esac || true":    false,
		"for f in 1; do false; break; done":    false,
		"coproc false":                         false,
		"[[ -d . ]] || false":                  false,
		"test -d . && false || true":           false,
		"xargs -n 1 -r false </dev/null":       false,
		"alias false=true && false":            false,
		"hash -p /bin/true false && false":     false,
		"cd . && hash -p /bin/true x && false": false,
	} {
		s := Parse(text, Options{})
		got := slices.ContainsFunc(s.Commands, func(c Command) bool {
			return c.Concludes && len(c.Argv) > 0 && c.Argv[0].Value == "false"
		})
		if got != want {
			t.Errorf("%s: concludes %v, want %v", text, got, want)
		}
		if bash == "" || !got {
			continue
		}
		cmd := exec.Command(bash, "-c", text)
		cmd.Dir = t.TempDir()
		if cmd.Run() == nil {
			t.Errorf("%s ends well in bash", text)
		}
	}
}
