package tools

import (
	"path"
	"path/filepath"
	"strings"
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
}

// IsManifest reports whether the file at path says what a build or a test runs.
func IsManifest(file string) bool {
	file = strings.ToLower(filepath.ToSlash(file))
	base := path.Base(file)
	for _, glob := range manifests {
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
