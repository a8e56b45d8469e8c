package shellparse

import (
	"slices"
	"testing"
)

// TestExecutingOptions holds that options which run, load or send something are found, also where a word that
// another option could take as its value is in fact an option.
func TestExecutingOptions(t *testing.T) {
	for _, text := range []string{
		"go test -json -toolexec=./evil .",
		"go test -json -toolexec ./evil .",
		"go test -run -exec=./evil .",
		"go test -json -run X -toolexec=./evil .",
		"go build -buildvcs -toolexec=./evil .",
		"go vet -json -vettool=./evil .",
		"go list -json -toolexec=./evil -export .",
		"go list -overlay=o.json ./...",
		"go list -modfile other.mod -m all",
		"go mod graph -modfile=/tmp/go.mod",
		"vitest -w --config=./evil.js",
		"vitest --poolOptions.forks.execArgv=--import=./evil.js",
		"jest --env=./evil.js",
		"npm test --globalconfig=./gc",
		"npm test --script-shell ./evil",
		"npm test -C /tmp/evil",
		"npm test --prefix /tmp/evil",
		"npm ls --node-options=--require=./evil.js",
		"npm run build --userconfig=./rc",
	} {
		s := Parse(text, Options{Dir: "/w"})
		if !slices.ContainsFunc(s.Commands, func(c Command) bool { return len(c.Effects) > 0 }) {
			t.Errorf("%s: no effect:%s", text, describe(s))
		}
	}
}

// TestHarmlessOptions holds that everyday options have no effect.
func TestHarmlessOptions(t *testing.T) {
	for _, text := range []string{
		"go test -json -run TestX -count=1 ./...",
		"go test -race -timeout 30s -coverprofile=c.out ./...",
		"go list -json -m all",
		"go list -f '{{.Dir}}' ./...",
		"go mod graph",
		"npm test -- --watch=false -C",
		"npm -C web test",
		"npm run build --silent --if-present",
		"npm ls --depth=0",
		"vitest run --coverage",
		"jest -w 4 --ci -t 'adds numbers'",
		"nice -n -5 make test",
		"git commit -m '- first point'",
		"sort -t - -k 2 f",
	} {
		for _, c := range Parse(text, Options{Dir: "/w"}).Commands {
			if len(c.Effects) > 0 {
				t.Errorf("%s: effects %q", text, c.Effects)
			}
		}
	}
}
