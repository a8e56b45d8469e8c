package tools

import (
	"path"
	"path/filepath"
	"strings"

	"callgate/permissions"
	"callgate/shellparse"
)

// manifests are the files that say what a build or a test runs, as globs over the lower-case base name, or
// over the end of the path where they hold a slash.
var manifests = []string{
	"package.json", "package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml", "pnpm-workspace.yaml", "bun.lock", "bun.lockb", "deno.json", "deno.jsonc",
	"lerna.json", "nx.json", "turbo.json", "project.json", "tsconfig*.json", "babel.config.*", ".babelrc*", "vite.config.*", "vitest.config.*", "vitest.workspace.*",
	"jest.config.*", "webpack.config.*", "rollup.config.*", "esbuild.*", "eslint.config.*", ".eslintrc*", ".prettierrc*", "prettier.config.*", "playwright.config.*",
	"karma.conf.*", "gulpfile.*", "gruntfile.*", ".mocharc*",
	"makefile", "gnumakefile", "*.mk", "justfile", ".justfile", "taskfile.y*ml", "rakefile", "gemfile", "gemfile.lock", "*.gemspec",
	"cmakelists.txt", "*.cmake", "cmakepresets.json", "meson.build", "build.ninja", "configure", "configure.ac", "build.bazel", "workspace.bazel", "module.bazel", ".bazelrc", "*.bzl",
	"go.mod", "go.sum", "go.work", "cargo.toml", "cargo.lock", "build.rs", "rust-toolchain*", ".cargo/config.toml",
	"pyproject.toml", "setup.py", "setup.cfg", "requirements*.txt", "pipfile", "pipfile.lock", "poetry.lock", "uv.lock", "tox.ini", "noxfile.py", "pytest.ini", "conftest.py", "manage.py",
	"pom.xml", "build.gradle*", "settings.gradle*", "gradle.properties", "gradlew", "gradlew.bat", "mvnw", "mvnw.cmd", "gradle/wrapper/*", ".mvn/*", "build.sbt", "build.sc", "build.xml",
	"*.csproj", "*.fsproj", "*.vbproj", "*.sln", "*.props", "*.targets", "nuget.config", "global.json",
	"composer.json", "composer.lock", "phpunit.xml*", "mix.exs", "rebar.config", "dune", "dune-project", "stack.yaml", "*.cabal", "pubspec.yaml", "package.swift", "podfile", "build.zig", "shard.yml",
	"dockerfile*", "containerfile*", "docker-compose*.y*ml", "compose.y*ml", "jenkinsfile", ".gitlab-ci.yml", ".travis.yml", "azure-pipelines.yml", ".pre-commit-config.yaml", ".github/workflows/*", ".circleci/*", ".ci/*",
	"*.sh", "*.bash", "*.bat", "*.cmd", "*.ps1",
	"magefile.go", "tasks.py", "dodo.py", "earthfile", "tiltfile", "skaffold.yaml", "vagrantfile", "devcontainer.json", "procfile", "procfile.*", "bake.hcl", "docker-bake.*",
	"buildozer.spec", "meson_options.txt", "meson.options", "wscript", "sconstruct", "sconscript", "build.ninja", "*.gradle", "*.gradle.kts", "libs.versions.toml", "deps.edn", "project.clj",
	"next.config.*", "nuxt.config.*", "astro.config.*", "svelte.config.*", "tsup.config.*", "postcss.config.*", "tailwind.config.*", "cypress.config.*", "ava.config.*", ".swcrc", ".nycrc*",
	"lefthook*.y*ml", ".lefthook*.y*ml", ".husky/*", ".lintstagedrc*", "lint-staged.config.*", ".simple-git-hooks.*", ".overcommit.yml", "commitlint.config.*", "rspec", ".rspec", "phpstan.neon*",
	".eleventy.js", "mkdocs.yml", "conf.py", "hatch.toml", "pixi.toml", "uv.toml", "dvc.yaml", "snakefile", "nextflow.config", "main.nf", "justfile.*", "*.just", "mise.toml", ".mise.toml", "flake.nix", "default.nix", "shell.nix",
}

// hookManifests are those that say what git runs when something is committed or pushed.
var hookManifests = []string{".pre-commit-config.yaml", "lefthook*.y*ml", ".lefthook*.y*ml", ".husky/*", ".lintstagedrc*", "lint-staged.config.*", ".simple-git-hooks.*", ".overcommit.yml", "commitlint.config.*"}

// projectRunners are programs that run what manifests say, whichever script, target or hook their words name, by the
// subcommands with which they do; "*" is any.
var projectRunners = func() map[string]map[string]bool {
	table := map[string]map[string]bool{}
	for programs, subs := range map[string]string{
		`make gmake bmake just task go-task rake ninja samu meson bazel bazelisk buck2 pants scons waf tup mage invoke inv doit earthly gradle gradlew mvn mvnw ant sbt
			lein clj clojure mill bleep stack cabal dune zig mix rebar3 flutter dart dotnet msbuild swift xcodebuild pre-commit prek lefthook husky lint-staged overcommit tox nox
			cmake ctest cpack configure autoreconf bundle rails rspec composer phpunit pest turbo nx lerna rush moon wireit gulp grunt jest vitest mocha ava karma playwright
			cypress webpack rollup vite parcel esbuild tsup next nuxt astro eslint prettier stylelint tsc babel pytest py.test coverage sphinx-build mkdocs snakemake nextflow
			dvc tilt skaffold vagrant devcontainer act foreman honcho overmind goreman hivemind hatch pdm poetry pixi pipenv buildozer snapcraft nix nix-build nix-shell
			npm-run-all run-s run-p concurrently wasm-pack trunk maturin semantic-release`: "*",
		"npm pnpm yarn bun deno": "*",
		"cargo":                  "run r build b test t bench check c clippy doc d install nextest xtask fix rustc rustdoc miri watch llvm-cov tarpaulin expand package publish",
		"go":                     "run generate test build vet install tool",
		"uv":                     "run sync build pip lock tool",
		"pip pip3":               "install wheel",
		"docker podman nerdctl docker-compose podman-compose finch": "compose build buildx bake up run create start restart watch stack image builder",
	} {
		for name := range strings.FieldsSeq(programs) {
			table[name] = wordSet(subs)
		}
	}
	return table
}()

// onlyAsksRegistry are subcommands of package managers that run nothing of the project.
var onlyAsksRegistry = wordSet("view info show search outdated audit whoami ping fund config get ls list ll la why explain help docs repo bugs")

// hookRunners are subcommands of git that run hooks.
var hookRunners = wordSet("commit push merge rebase am cherry-pick revert pull checkout switch")

// runsProject reports whether a command runs what the manifests of a project say, and whether it runs git's hooks.
func runsProject(c *shellparse.Command, risk permissions.Risk) (builds, hooks bool) {
	if len(c.Argv) == 0 || !c.Argv[0].Known {
		return false, false
	}
	name := plainName(c.Argv[0].Value)
	sub := ""
	for _, w := range c.Argv[1:] {
		if w.Known && !isOption(w.Value) {
			sub = w.Value
			break
		}
	}
	if name == "git" {
		return false, hookRunners[sub]
	}
	subs := projectRunners[name]
	switch {
	case risk == permissions.BuildTest:
		return true, false
	case risk == permissions.ReadOnly, subs["*"] && onlyAsksRegistry[sub]:
		return false, false
	}
	return subs["*"] || subs[sub], false
}

// IsHookManifest reports whether the file at path says what git runs when something is committed or pushed.
func IsHookManifest(file string) bool { return matchesManifest(hookManifests, file) }

// IsManifest reports whether the file at path says what a build or a test runs.
func IsManifest(file string) bool { return matchesManifest(manifests, file) }

func matchesManifest(list []string, file string) bool {
	file = strings.ToLower(filepath.ToSlash(file))
	base := path.Base(file)
	for _, glob := range list {
		if !strings.Contains(glob, "/") {
			if ok, _ := path.Match(glob, base); ok {
				return true
			}
			continue
		}
		parts := strings.Split(file, "/")
		if n := strings.Count(glob, "/") + 1; len(parts) >= n {
			if ok, _ := path.Match(glob, strings.Join(parts[len(parts)-n:], "/")); ok {
				return true
			}
		}
	}
	return false
}
