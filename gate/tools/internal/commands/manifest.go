package commands

import (
	"path"
	"path/filepath"
	"strings"

	"callgate/gate/tools/internal/wording"
	"callgate/permissions"
	"callgate/shellparse"
	"callgate/shellparse/programs"
)

// Manifests lists the files that say what a build or a test runs, as globs over the lower-case base name, or over the
// end of the path if they contain a slash. Names in capitals match only in capitals, because build is a folder.
var Manifests = []string{
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
	// settings of linters and other tools that name code, or commands
	"pylintrc", ".pylintrc*", "mypy.ini", ".mypy.ini", ".flake8", ".coveragerc", ".rubocop*.yml", ".standard.yml", ".erb?lint.y*ml", "steepfile", ".golangci.*",
	"stylelint.config.*", ".stylelintrc*", ".markdownlint*.?js", ".markdownlint-cli2.*", "cspell.config.*", "oxlint.config.*", ".tflint.hcl", ".luacheckrc", ".busted", "*.rockspec",
	"phpstan.dist.neon", "psalm*.xml*", "phpcs.xml*", ".phpcs.xml*", "ansible.cfg", "cdk.json", "cdktf.json", "pulumi*.yaml", "buf*.yaml",
	"sqlc.y*ml", "sqlc.json", "book.toml", "analysis_options.yaml", "config.exs", "runtime.exs", ".credo.exs", ".formatter.exs",
	"BUILD", "WORKSPACE", "workspace.bzlmod", "BUCK", "*.sbt", "project/*.scala", "build.mill*", "*.pbxproj", "*.xcscheme", "*.xcconfig", "project.yml", "cmakeuserpresets.json",
	"makefile.am", "makefile.in", "makefile.pl", "cabal.project*", "setup.hs", "package.yaml", "dune-workspace", "angular.json", "workspace.json", "cypress.json", "hardhat.config.*",
	"truffle-config.js", "vue.config.*", "metro.config.*", "react-native.config.js", "remix.config.*", "gatsby-*.?s", ".storybook/*", ".c8rc*", "rspack.config.*", "rsbuild.config.*",
	"nest-cli.json", "prisma.config.*", "nodemon.json", ".nodemonrc*", "alembic.ini", "alembic/env.py", "migrations/env.py", "_config*.y*ml", "_plugins/*",
	".eleventy.js", "mkdocs.y*ml", "conf.py", "hatch.toml", "pixi.toml", "uv.toml", "dvc.yaml", "snakefile", "nextflow.config", "main.nf", "justfile.*", "*.just", "mise.toml", ".mise.toml", "flake.nix", "default.nix", "shell.nix",
}

// hookManifests lists the files that say what git runs when something is committed or pushed.
var hookManifests = []string{".pre-commit-config.yaml", "lefthook*.y*ml", ".lefthook*.y*ml", ".husky/*", ".lintstagedrc*", "lint-staged.config.*", ".simple-git-hooks.*", ".overcommit.yml", "commitlint.config.*"}

// onlyAsksRegistry are subcommands of package managers that run nothing of the project.
var onlyAsksRegistry = wording.Set("view info show search outdated audit whoami ping fund config get ls list ll la why explain help docs repo bugs")

// RunsProject reports whether a command runs what the manifests of a project say, and whether it runs git's hooks.
func RunsProject(c *shellparse.Command, risk permissions.Risk) (builds, hooks bool) {
	if len(c.Argv) == 0 || !c.Argv[0].Known {
		return false, false
	}
	name := PlainName(c.Argv[0].Value)
	sub := ""
	for _, w := range c.Argv[1:] {
		if w.Known && !IsOption(w.Value) {
			sub = w.Value
			break
		}
	}
	about := programs.Find(name, sub)
	if about.Has(programs.RunsHooks) {
		return false, true
	}
	always := programs.Find(name).Has(programs.RunsProject) // whatever its words
	switch {
	case risk == permissions.BuildTest:
		return true, false
	case risk == permissions.ReadOnly, always && onlyAsksRegistry[sub]:
		return false, false
	}
	return always || about.Has(programs.RunsProject), false
}

// IsHookManifest reports whether the file at path says what git runs when something is committed or pushed.
func IsHookManifest(file string) bool { return matchesManifest(hookManifests, file) }

// IsManifest reports whether the file at path says what a build or a test runs.
func IsManifest(file string) bool { return matchesManifest(Manifests, file) }

func matchesManifest(list []string, file string) bool {
	given := path.Base(filepath.ToSlash(file))
	file = strings.ToLower(filepath.ToSlash(file))
	base := path.Base(file)
	for _, glob := range list {
		if !strings.Contains(glob, "/") {
			if ok, _ := path.Match(glob, base); ok || glob == given {
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
