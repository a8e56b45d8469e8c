package gate

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"callgate/gate/tools"
	"callgate/permissions"
)

// A deny on files, and callgate's own files, hold for a path wherever it stands in the arguments of an unknown tool,
// and however it is written.
func TestPathsAnywhereInArguments(t *testing.T) {
	home := t.TempDir()
	ws := filepath.Join(home, "ws")
	for _, dir := range []string{ws, filepath.Join(home, ".ssh"), filepath.Join(home, "data")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"ws/.env", "ws/a.txt", ".ssh/id_rsa", "data/key"} {
		if err := os.WriteFile(filepath.Join(home, file), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(ws, ".env"), filepath.Join(ws, "link")); err != nil {
		t.Fatal(err)
	}
	own, err := NewProtected([]string{filepath.Join(home, "data")}, home, nil)
	if err != nil {
		t.Fatal(err)
	}
	j := Judge{Protected: own, Now: time.Now(), Policy: policy(t, `{ "*": "allow", "{read_file,write_file,edit_file,move_file,delete_file}": {"*": "allow", "**/.env": "deny", "**/.ssh/**": "deny"} }`)}
	place := tools.Place{Dir: ws, Home: home}
	judge := func(tool, arguments string) Verdict {
		arguments = strings.NewReplacer("WS", ws, "HOME/", home+"/", `"HOME"`, `"`+home+`"`).Replace(arguments)
		return j.Judge(Call{Tool: tools.Describe(tools.Server{Name: "x"}, tool, "x_"+tool, nil), Arguments: []byte(arguments), Place: place})
	}
	for _, arguments := range lines(`
		{"path":".env"}
		{"a":{"b":[{"c":".env"}]}}
		{"p":"file:///WS/.env"}
		{"p":"FILE://localhost/WS/.env"}
		{"p":"file:.env"}
		{".env":true}
		{"files":{".env":"TOKEN=1"}}
		{"files":[{"WS/.env":null}]}
		{"files":["a",".env"]}
		{"p":"./x/../.env"}
		{"p":"%2eenv"}
		{"p":"link"}
		{"p":"\u002eenv"}
		{"p":".env "}
		{"p":".env::$DATA"}
		{"p":"~/.ssh/id_rsa"}
		{"p":"$HOMEDIR/../.ssh/id_rsa"}
		{"p":"HOME/.ssh/id_rsa"}
		{"p":"/proc/self/root/HOME/.ssh/id_rsa"}
		{"p":"/proc/self/cwd/.env"}
		{"json":"{\"path\":\".env\"}"}
		{"json":"[\".env\"]"}
		{"p":"vscode://file/WS/.env"}
		{"p":"data:,.env"}
		{"p":"a,.env,b"}
		{"p":"a\n.env\nb"}
		{"p":"a;.env"}
		{"p":".env:1:2"}
		{"p":".env#L1"}
		{"p":".env?x"}
		{"p":"HEAD:.env"}
		{"p":"@.env"}
		{"dir":"WS","name":".env"}
		{"base":"HOME/.ssh","leaf":"id_rsa"}
		{"p":"WS//.env"}
		{"p":".env/"}
		{"p":"HOME/data/key"}
		{"x":[[["HOME/data/key"]]]}
		{"HOME/data/key":1}
		{"path":"HOME/./data//key"}
		{"path":"HOME/DATA/key"}
		{"path":"HOME/x/../data/key"}
		{"path":"~/data/key"}
		{"dir":"HOME","file":"data/key"}
		{"s":"open('HOME/data/key')"}
		{"s":"../data/key"}
	`) {
		for _, tool := range []string{"frob", "read_thing"} {
			if v := judge(tool, arguments); v.Action == permissions.Allow {
				t.Errorf("%s %s: %v", tool, arguments, v.Action)
			}
		}
	}
	for _, arguments := range lines(`
		{"p":"a.txt"}
		{"files":{"a.txt":"x","main.go":"y"}}
		{"dir":"WS","name":"a.txt"}
		{"text":"put the token into .env, please"}
		{"editor.fontSize":12}
		{"p":"a,b,c"}
	`) {
		if v := judge("frob", arguments); v.Action != permissions.Allow {
			t.Errorf("%s: %v %s", arguments, v.Action, v.Reason)
		}
	}
}
