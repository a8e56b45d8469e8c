package shellparse

import (
	"slices"
	"testing"
)

// TestExecutingOptions checks that options which run, load or send something are found, even if the word could be the
// value of another option.
func TestExecutingOptions(t *testing.T) {
	for _, text := range []string{
		"go test -json -toolexec=./evil .",
		"go test . -toolexec=./evil",
		"go test ./... -run X -exec ./evil",
		"gotestsum --format short -- -toolexec=./evil ./...",
		"gotestsum -- ./... -exec=./evil",
		"ginkgo -r --toolexec ./evil",
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
		"sphinx-build -c evil . out",
		"mkdocs build -f /tmp/x.yml",
		"cppcheck --addon=./evil.py .",
		"clang-tidy --load=./evil.so a.c",
		"semgrep --config http://x/y .",
		"protoc --plugin=./evil a.proto",
		"vitest --poolOptions.forks.execArgv=--import=./evil.js",
		"jest --env=./evil.js",
		"jest --global-setup ./evil.js",
		"mocha --nodeOption require=./evil.js",
		"vitest --exec-argv=--import=./evil.js",
		"bun run test --config ./evil.js",
		"bun run test --global-setup=./evil.js",
		"npm test -- -r/tmp/evil.js",
		"npm test -- --exec-argv=--import=./evil.js",
		"npm test --globalconfig=./gc",
		"npm test --script-shell ./evil",
		"npm test -C /tmp/evil",
		"npm test --prefix /tmp/evil",
		"npm ls --node-options=--require=./evil.js",
		"npm run build --userconfig=./rc",
		"yarn test --cwd /tmp/evil",
		"pnpm test -C /tmp/evil",
		"pnpm list --global-pnpmfile ./evil.cjs",
		"pip list --python ./evil",
		"pip list --index-url https://x/",
		"uv pip list --python ./evil",
		"apt list -o APT::Pager=./evil",
		"apt-cache -c ./apt.conf search x",
		"rpm -E '%(id)'",
		"rpm -qa --pipe ./evil",
		"ip -batch f",
		"ip -b addr show",
		"ss -K dst 1.2.3.4",
		"systemctl -H host status",
		"systemctl status -H host",
		"git symbolic-ref HEAD x",
		"cloc --extract-with=./evil a",
		"delta --pager=./evil",
		"fzf --preview 'cat {}'",
		"fzf --bind 'enter:execute(id)'",
		"scc --format-multi tabular:stdout,csv:x",
		"lspci -O net.cache_name=x",
		"mlr put 'system(\"id\")' a",
		"fx a 'x => x'",
		"ps axe",
		"sed 's/[/]/g;#/w out' in",
		"sed 's/[/]/g;#/e' in",
		"sed 's/[^/]*$//e' in",
		"sed 's/[]/]/;r .env' in",
		"sed -n '/[/]/s/x/w out;/' in",
		"sed 's[a[b[e' in",
		"sed 's/[\\]/]/e;#/' in",
		"sed 's/[^]/]/g;#/w out' in",
		"sed 's/[[:alpha:/]/g;#/w out' in",
		"jq -n --args env",
		"jq --args . -f ./p.jq",
		"awk 'BEGIN { ARGV[1] = \".e\" \"nv\"; ARGC = 2 } { print }'",
		"ps auxe",
		"ps eww -p 1",
		"ps -E",
		"ps -auxe",
		"ps axeo pid",
	} {
		s := Parse(text, Options{Dir: "/w"})
		if !slices.ContainsFunc(s.Commands, func(c Command) bool { return len(c.Effects) > 0 }) {
			t.Errorf("%s: no effect:%s", text, describe(s))
		}
	}
}

// TestHarmlessOptions checks that everyday options have no effect.
func TestHarmlessOptions(t *testing.T) {
	for _, text := range []string{
		"go test -json -run TestX -count=1 ./...",
		"go test ./... -run TestX -count=1 -v",
		"gotestsum -- -race ./...",
		"go test -race -timeout 30s -coverprofile=c.out ./...",
		"go list -json -m all",
		"go list -f '{{.Dir}}' ./...",
		"go mod graph",
		"npm test -- --watch=false -C",
		"npm -C web test",
		"npm run build --silent --if-present",
		"npm ls --depth=0",
		"vitest run --coverage",
		"vitest run --max-workers=2 --test-timeout=9",
		"bun run test --bail --reporter=junit",
		"bun run build --mode production",
		"sphinx-build -b html docs docs/_build",
		"mkdocs build --strict",
		"protoc --go_out=. a.proto",
		"jest -w 4 --ci -t 'adds numbers'",
		"nice -n -5 make test",
		"git commit -m '- first point'",
		"sort -t - -k 2 f",
		"sed -e 's/[]a-z]*/x/g' -e '/^[[:space:]]*$/d' in",
		"sed -E 's/\\[x\\]/[y]/' in",
		"n=$(nproc); make -j$n test",
		"sed 's,[/],_,g; y/ab/[]/' in",
		"sed 's/[^/]*$//' in",
		"sed -n '/[/]/p' in",
		"ps aux",
		"ps -ef",
		"ps -eo pid,etime,cmd",
		"ps axo user,etime",
		"ps axo user",
		"ps -u eve -o etime=",
		"ps -C node",
		"ip -br addr show",
		"ip route get 1.1.1.1",
		"ss -tlnp",
		"git symbolic-ref --short HEAD",
		"rpm -qa",
		"rpm -q --qf '%{NAME}' bash",
		"xq . a",
		"docker compose config --services",
		"pip list --outdated",
		"yarn list --depth=0",
	} {
		for _, c := range Parse(text, Options{Dir: "/w"}).Commands {
			if len(c.Effects) > 0 {
				t.Errorf("%s: effects %q", text, c.Effects)
			}
		}
	}
}
