package shellparse

import (
	"strings"
	"testing"
)

// TestCompilerFlags checks that common CI values of variables have no effect, and that values which load code have one.
func TestCompilerFlags(t *testing.T) {
	for text, want := range map[string]string{
		`RUSTFLAGS="-D warnings" cargo check`:                         "allow",
		`RUSTFLAGS=-Dwarnings cargo test`:                             "allow",
		`RUSTDOCFLAGS="-D rustdoc::broken_intra_doc_links" cargo doc`: "allow",
		`RUSTFLAGS="-C target-cpu=native" cargo build --release`:      "allow",
		`RUSTFLAGS="-C instrument-coverage" cargo test`:               "allow",
		`RUSTFLAGS="-C linker=/tmp/x" cargo check`:                    "ask",
		`RUSTFLAGS="-Clinker=/tmp/x" cargo check`:                     "ask",
		`RUSTFLAGS="-C linker=evil" cargo check`:                      "ask",
		`RUSTFLAGS="-D warnings -C linker=/tmp/x" cargo check`:        "ask",
		`RUSTFLAGS="-C link-arg=-fuse-ld=/tmp/x" cargo check`:         "ask",
		`RUSTFLAGS="-Zcodegen-backend=/tmp/x.so" cargo check`:         "ask",
		`RUSTFLAGS="--extern x=/tmp/x.so" cargo check`:                "ask",
		`RUSTFLAGS="-L /tmp" cargo check`:                             "ask",
		`RUSTFLAGS="@/tmp/x" cargo check`:                             "ask",
		`RUSTFLAGS="-C debuginfo=1/../x" cargo check`:                 "ask",
		`RUSTFLAGS="$X" cargo check`:                                  "ask",
		`RUSTFLAGS="-D warnings $X" cargo check`:                      "ask",
		`CARGO_ENCODED_RUSTFLAGS="-D warnings" cargo check`:           "ask",
		`export RUSTFLAGS="-D warnings"; cargo check`:                 "allow",
		`env RUSTFLAGS="-D warnings" cargo check`:                     "allow",
		`env RUSTFLAGS="-C linker=/tmp/x" cargo check`:                "ask",
		`RUSTC_WRAPPER=/tmp/x RUSTFLAGS="-D warnings" cargo check`:    "ask",
		`RUSTFLAGS="-C codegen-units=1 -C lto=fat" cargo build`:       "allow",
		`RUSTFLAGS="--cfg tokio_unstable" cargo test`:                 "allow",
	} {
		s := Parse(text, Options{Dir: "/w"})
		if got := judge(s, []string{"cargo *", "export *"}, nil, nil); got != want {
			t.Errorf("%s: %s, want %s%s", text, got, want, describe(s))
		}
	}
}

// TestVariablesOfTools checks that a rule for a tool covers variables that choose what the tool shows, but not those
// that choose what it loads, starts or talks to.
func TestVariablesOfTools(t *testing.T) {
	for text, want := range map[string]string{
		`HISTCONTROL=ignorespace go vet ./...`:                  "ask",
		`export HISTSIZE=0; go vet ./...`:                       "ask",
		`GOCACHEPROG=./x go test ./...`:                         "ask",
		`GOSUMDB=off go build ./...`:                            "ask",
		`GOINSECURE=* go build ./...`:                           "ask",
		`XDG_CACHE_HOME=./x go build ./...`:                     "ask",
		`GH_REPO=x.example/a/b gh pr view 1`:                    "ask",
		`JAVACMD=./x mvn test`:                                  "ask",
		`RUSTFMT=./x cargo fmt`:                                 "ask",
		`KUBECTL_EXTERNAL_DIFF=./x kubectl diff -f a.yaml`:      "ask",
		`LESSKEYIN=x less a`:                                    "ask",
		`MANROFFOPT=-U man ./a.1`:                               "ask",
		`TAPE=host:x tar t`:                                     "ask",
		`BAZEL_REAL=./x bazel test //...`:                       "ask",
		`ESBUILD_BINARY_PATH=./x npm run build`:                 "ask",
		`DBUS_SESSION_BUS_ADDRESS=unixexec:path=x systemctl ps`: "ask",
		`GH_HOST=x.example gh pr view 1`:                        "ask",
		`AWS_CONTAINER_CREDENTIALS_FULL_URI=http://x aws s3 ls`: "ask",
		`HUGO_SECURITY_EXEC_ALLOW=. hugo`:                       "ask",
		`DEPENDENCIES_OUTPUT=x gcc a.c`:                         "ask",
		`BINDGEN_EXTRA_CLANG_ARGS=-fplugin=./x cargo check`:     "ask",
		`COV_CORE_CONFIG=./x ruff check`:                        "ask",
		`REBAR_CONFIG=./x npm run build`:                        "ask",
		`VSTEST_DOTNET_ROOT_PATH=./x npm run build`:             "ask",
		`GH_TOKEN=x gh pr view 1`:                               "allow",
		`PGPASSWORD=x PGHOST=localhost psql -l`:                 "allow",
		`XDEBUG_MODE=coverage phpunit`:                          "allow",
		`LESSCHARSET=utf-8 less a`:                              "allow",
		`DATABASE_URL=postgres://localhost/x npm run build`:     "allow",
		`AWS_PROFILE=dev AWS_EC2_METADATA_DISABLED=1 aws s3 ls`: "allow",
		`MYSQL_PWD=x mysql -e 'show tables'`:                    "allow",
		`RUFF_NO_CACHE=1 ruff check`:                            "allow",
		`HUGO_ENV=production hugo`:                              "allow",
		`SYSTEMD_LOG_LEVEL=debug systemctl status x`:            "allow",
		`GH_SPINNER_DISABLED=1 gh pr list`:                      "allow",
		`TURBO_TEAM=a TURBO_TOKEN=b npm run build`:              "allow",
		`TURBO_API=http://x npm run build`:                      "ask",
		`COMPOSER_NO_INTERACTION=1 composer test`:               "allow",
		`GIT_MERGE_AUTOEDIT=no git merge main`:                  "allow",
		`BAT_STYLE=plain bat a`:                                 "allow",
		`TF_IN_AUTOMATION=1 DOCKER_BUILDKIT=1 terraform fmt`:    "allow",
	} {
		s := Parse(text, Options{Dir: "/w"})
		rules := []string{"go *", "mvn *", "cargo *", "kubectl *", "less *", "man *", "tar *", "bazel *", "npm *", "systemctl *", "gh *", "aws *", "hugo *",
			"gcc *", "psql *", "phpunit *", "mysql *", "ruff *", "composer *", "git *", "bat *", "terraform *"}
		if got := judge(s, rules, nil, []string{"*"}); got != want {
			t.Errorf("%s: %s, want %s%s", text, got, want, describe(s))
		}
	}
}

// TestVariablesThatNameFiles checks that a variable which names an output file is judged like a redirection.
func TestVariablesThatNameFiles(t *testing.T) {
	for text, want := range map[string]string{
		`COVERAGE_FILE=.coverage.unit pytest -q`:    "/w/.coverage.unit",
		`RUFF_CACHE_DIR=../.ssh ruff check .`:       "/.ssh",
		`MYPY_CACHE_DIR=a mypy src > b`:             "/w/a /w/b",
		`COVERAGE_FILE=~/x timeout 5 pytest`:        "/home/u/x",
		`LLVM_PROFILE_FILE=.git/hooks/x cargo test`: "/w/.git/hooks/x",
	} {
		s := Parse(text, Options{Dir: "/w", Home: "/home/u"})
		var got []string
		for _, f := range s.Commands[0].Writes {
			got = append(got, f.Path.Value)
		}
		if strings.Join(got, " ") != want || len(s.Commands[0].Effects) > 0 {
			t.Errorf("%s: writes %q, %v", text, got, s.Commands[0].Effects)
		}
	}
	for _, text := range []string{`COVERAGE_FILE=$X pytest`, `export COVERAGE_FILE=x; pytest`, `COVERAGE_FILE+=x pytest`, `env COVERAGE_FILE=x pytest`, `COVERAGE_FILE= pytest`} {
		s := Parse(text, Options{Dir: "/w"})
		if got := judge(s, []string{"pytest *", "export *"}, nil, nil); got != "ask" {
			t.Errorf("%s: %s", text, got)
		}
	}
}
