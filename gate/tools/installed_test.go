package tools

import (
	"os"
	"testing"

	"callgate/permissions"
)

// A project's interpreter is the system's if its name says so and it takes its settings from the project.
func TestPythonOfAnEnvironment(t *testing.T) {
	if _, err := os.Stat("/usr/bin/python3"); err != nil {
		t.Skip("there is no python here")
	}
	p := project(t, map[string]string{
		".venv/bin/python": "-> /usr/bin/python3", ".venv/bin/python3": "-> python", ".venv/bin/python3x": "-> /usr/bin/python3", ".venv/bin/env": "-> /usr/bin/env",
		".venv/pyvenv.cfg": "x", ".venv/lib/x": "x", "bin/python": "-> /usr/bin/python3",
		"../else/bin/python": "-> /usr/bin/python3", "../else/pyvenv.cfg": "x", "../else/lib/x": "x", "venv": "-> ../else",
		"a/.venv/bin/python": "-> ../../../../else/run", "../else/run": "x", "a/.venv/pyvenv.cfg": "x", "a/.venv/lib/x": "x",
		"b/.venv/bin/python": "-> /usr/bin/python3", "b/.venv/pyvenv.cfg": "-> ../../../else/pyvenv.cfg", "b/.venv/lib/x": "x",
		"c/.venv/bin/python": "-> /usr/bin/python3", "c/.venv/pyvenv.cfg": "x", "c/.venv/lib": "-> ../../../else/lib",
		"d/.venv/bin/python": "-> /usr/bin/env", "d/.venv/pyvenv.cfg": "x", "d/.venv/lib/x": "x",
		"e/.venv/bin/python": "-> /usr/bin/python3", "e/.venv/lib/x": "x",
	})
	rules := `{ "shell_exec": { "*.venv/bin/* *": "allow", "venv/bin/* *": "allow", "bin/* *": "allow" } }`
	for command, want := range map[string]permissions.Action{
		".venv/bin/python -m pytest tests -q":     permissions.Allow,
		".venv/bin/python3 -m pytest tests -q":    permissions.Allow,
		".venv/bin/python -m pytest /tmp/x":       permissions.Ask,
		".venv/bin/python -m pytest -p evil":      permissions.Ask,
		".venv/bin/python -c 1":                   permissions.Ask,
		".venv/bin/python3x -m pytest":            permissions.Ask, // no name of an interpreter
		".venv/bin/env -m pytest":                 permissions.Ask,
		"bin/python -m pytest":                    permissions.Ask,   // no environment
		"venv/bin/python -m pytest":               permissions.Ask,   // the environment lies elsewhere
		"cd a && .venv/bin/python -m pytest":      permissions.Ask,   // another interpreter
		"cd b && .venv/bin/python -m pytest":      permissions.Ask,   // its settings lie elsewhere
		"cd c && .venv/bin/python -m pytest":      permissions.Ask,   // its packages lie elsewhere
		"cd d && .venv/bin/python -m pytest":      permissions.Ask,   // no interpreter
		"cd e && .venv/bin/python -m pytest":      permissions.Allow, // no settings: it is the one of the system
		"cd /tmp && .venv/bin/python -m pytest":   permissions.Ask,
		".venv/../venv/bin/python -m pytest":      permissions.Ask,
		".venv/bin/python -m http.server":         permissions.Ask,
		"PYTHONHOME=x .venv/bin/python -m pytest": permissions.Ask,
	} {
		if got := verdict(policy(t, rules), analyze(t, KindShell, p, "command", command)); got != want {
			t.Errorf("%s: %v, want %v", command, got, want)
		}
	}
}
