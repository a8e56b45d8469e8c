package tools

import (
	"testing"

	"callgate/permissions"
)

func TestScriptsOfPython(t *testing.T) {
	p := project(t, map[string]string{
		"plain.py":                               "#!/usr/bin/env python3\nimport json\n\ndef main():\n    print(json.dumps([1]))\n\nmain()\n",
		"reads.py":                               "print(open('data.txt').read())\n",
		"writes.py":                              "open('out.txt', 'w').write('x')\n",
		"arg.py":                                 "import sys\nprint(open(sys.argv[1]).read())\n",
		"runs.py":                                "import os\nos.system('id')\n",
		"sub/in.py":                              "print(open('data.txt').read())\n",
		"../else/x.py":                           "print(1)\n",
		"link.py":                                "-> ../else/x.py",
		"to-b":                                   "-> b",
		"to-sub":                                 "-> sub",
		"b/one.py":                               "print(1)\n",
		"to-one.py":                              "-> b/one.py",
		"to-a.py":                                "-> a/plain.py",
		"a/plain.py":                             "import json, re\nprint(json.dumps([1]))\n",
		"a/re.py":                                "import os\n",
		"b/json/__init__.py":                     "x",
		"e/re/x":                                 "x",
		"c/json.txt":                             "x",
		"c/json.md":                              "x",
		"c/xjson.py":                             "x",
		"d/json.cpython-312-x86_64-linux-gnu.so": "x",
	})
	for command, want := range map[string]permissions.Risk{
		"python3 plain.py":                                          permissions.BuildTest,
		"python3 -u ./plain.py a b":                                 permissions.BuildTest,
		"ls && python plain.py | head":                              permissions.BuildTest,
		"python3 plain.py; python3 reads.py":                        permissions.BuildTest,
		"cd sub && python3 in.py":                                   permissions.BuildTest,
		"python3 writes.py":                                         permissions.Write,
		"python3 arg.py data.txt":                                   permissions.BuildTest,
		"python3 arg.py $X":                                         permissions.Unknown,
		"python3 runs.py":                                           permissions.Unknown,
		"python3 gone.py":                                           permissions.Unknown,
		"python3 link.py":                                           permissions.Unknown,
		"python3 ../else/x.py":                                      permissions.Unknown,
		"python3 -i plain.py":                                       permissions.Unknown,
		"python3 -m plain":                                          permissions.Unknown,
		"xonsh plain.py":                                            permissions.Unknown,
		"PYTHONPATH=. python3 plain.py":                             permissions.Unknown,
		"echo x > plain.py; python3 plain.py":                       permissions.Unknown,
		"python3 plain.py; python3 runs.py":                         permissions.Unknown,
		"pytest; python3 plain.py":                                  permissions.Unknown,
		"python3 a/plain.py":                                        permissions.Unknown, // it imports a/re.py
		"python3 to-a.py":                                           permissions.Unknown, // Python looks in a
		"python3 to-one.py":                                         permissions.BuildTest,
		"python3 to-b/one.py > log.txt":                             permissions.Write,
		"cp runs.py b/one.py; python3 to-one.py":                    permissions.Unknown,
		"cp runs.py b/one.py; python3 to-b/one.py":                  permissions.Unknown,
		"cp runs.py to-b/one.py; python3 b/one.py":                  permissions.Unknown,
		"cp -r sub to-b; python3 b/one.py":                          permissions.Unknown,
		"mkdir -p b; python3 b/one.py":                              permissions.Write,
		"echo x > to-sub/re.py; cd sub && python3 -c 'import re'":   permissions.Unknown,
		"cp a/*.py . && python3 -c 'import re'":                     permissions.Unknown,
		"cp -r a/. . && python3 -c 'import re'":                     permissions.Unknown,
		"cp -r a/. sub && cd sub && python3 -c 'import re'":         permissions.Unknown,
		"find a -exec cp {} . \\; ; python3 -c 'import re'":         permissions.Unknown,
		"ln -s a/re.py; python3 -c 'import re'":                     permissions.Unknown,
		"cp a/plain.py . && python3 -c 'import re'":                 permissions.Write,
		"cp -r a sub && python3 -c 'import re'":                     permissions.Write,
		"mkdir -p out; gofmt -w .; python3 -c 'import re'":          permissions.Write,
		"cd a && python3 -c 'import re'":                            permissions.Unknown,
		"cd b && python3 -c 'import json'":                          permissions.Unknown,
		"cd e && python3 -c 'import re'":                            permissions.BuildTest,
		"cd c && python3 -c 'import json'":                          permissions.BuildTest,
		"cd d && python3 -c 'import json'":                          permissions.Unknown,
		"echo x > re.py; python3 -c 'import re'":                    permissions.Unknown,
		"mkdir re; echo x > re/__init__.py; python3 -c 'import re'": permissions.Unknown,
		"echo x > re.txt; python3 -c 'import re'":                   permissions.Write,
		"ssh h python3 plain.py":                                    permissions.Unknown,
		`python3 -c 'open("plain.py", "w")'; python3 plain.py`:      permissions.Unknown,
	} {
		if a := analyze(t, KindShell, p, "command", command); a.Risk != want {
			t.Errorf("%s: %v, want %v", command, a.Risk, want)
		}
	}
	denied := `{ "shell_exec": { "*": "allow" }, "read_file": { "**/data.txt": "deny" }, "write_file": { "**/out.txt": "deny" } }`
	for _, command := range []string{"python3 reads.py", "cd sub && python3 in.py", "python3 writes.py", "python3 arg.py data.txt"} {
		if got := verdict(policy(t, denied), analyze(t, KindShell, p, "command", command)); got != permissions.Deny {
			t.Errorf("%s: %v, want deny", command, got)
		}
	}
}
