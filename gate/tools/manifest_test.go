package tools

import (
	"path"
	"testing"

	"callgate/gate/tools/internal/commands"
)

func TestIsManifest(t *testing.T) {
	for _, glob := range commands.Manifests {
		if _, err := path.Match(glob, "x"); err != nil {
			t.Errorf("%q: %v", glob, err)
		}
	}
	for file, want := range map[string]bool{
		"/w/package.json": true, "/w/sub/Makefile": true, "/w/.github/workflows/ci.yml": true, "/w/scripts/build.sh": true,
		"/w/gradle/wrapper/gradle-wrapper.properties": true, "/w/vite.config.ts": true, "/w/Dockerfile.dev": true,
		"/w/.pylintrc": true, "/w/mypy.ini": true, "/w/.golangci.yml": true, "/w/.rubocop.yml": true, "/w/cdk.json": true,
		"/w/nest-cli.json": true, "/w/prisma.config.ts": true, "/w/alembic/env.py": true, "/w/_plugins/a.rb": true, "/w/src/env.py": false,
		"/w/App.xcodeproj/project.pbxproj": true, "/w/BUILD": true, "/w/build": false,
		"/w/main.go": false, "/w/README.md": false, "/w/workflows/ci.yml": false, "/w/src/package.json.ts": false,
	} {
		if IsManifest(file) != want {
			t.Errorf("IsManifest(%s) = %v", file, !want)
		}
	}
}
