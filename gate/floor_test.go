package gate

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"callgate/gate/internal/floor"
	"callgate/gate/tools"
	"callgate/internal/jsonx"
	"callgate/permissions"
)

// standsOnFloor judges a call under everything that could release it and reports whether the floor held it.
func standsOnFloor(t *testing.T, tool *tools.Tool, arguments string, place tools.Place) (string, bool) {
	t.Helper()
	rules := policy(t, `{ "*": "allow" }`)
	for _, j := range []Judge{
		{Policy: rules, AskEscalations: true, Now: time.Now()},
		{Policy: rules, AskEscalations: true, Autonomy: FullAuto, Now: time.Now()},
		{Policy: rules, AskEscalations: true, Mode: ModeAutoApprove, Now: time.Now()},
	} {
		v := j.Judge(Call{Tool: tool, Arguments: []byte(arguments), Place: place})
		for _, m := range v.Marks {
			if m.Code == floor.Mark {
				if v.Action != permissions.Ask {
					t.Errorf("%s: marked, and %v", arguments, v.Action)
				}
				return m.Text, true
			}
		}
	}
	return "", false
}

// floorPlace is a home with a workspace, which is a repository.
func floorPlace(t *testing.T) tools.Place {
	t.Helper()
	home := filepath.Join(t.TempDir(), "home", "u")
	for _, dir := range []string{"src/app/.git", "src/app/sub", "src/other/.git", "Documents"} {
		if err := os.MkdirAll(filepath.Join(home, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"notes.txt", "src/app/a.txt", "src/app/sub/b.txt"} {
		if err := os.WriteFile(filepath.Join(home, file), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return tools.Place{Dir: filepath.Join(home, "src/app"), Home: home}
}

// lines returns the cases of a table: one a line, without comments, which begin with "#".
func lines(table string) (list []string) {
	program, _ := os.Executable()
	for line := range strings.Lines(table) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "# ") {
			list = append(list, strings.NewReplacer("PID", fmt.Sprint(os.Getpid()), "PROGRAM", program, "ABOVE", filepath.Dir(filepath.Dir(program))).Replace(line))
		}
	}
	return list
}

func readLines(t *testing.T, name string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return lines(string(text))
}

var shellTool = tools.Describe(tools.Server{Name: "commands", Packages: []string{"mcp-server-commands"}}, "run_command", "commands_run_command", []byte(`{"name":"run_command","inputSchema":{"type":"object","properties":{"command":{"type":"string"}}}}`))

func TestFloorHoldsCommands(t *testing.T) {
	place := floorPlace(t)
	for _, c := range []struct {
		file string
		want bool
	}{{"floor.txt", true}, {"floor_not.txt", false}} {
		for _, line := range readLines(t, c.file) {
			arguments := `{"command":` + string(jsonx.Quote(line)) + `}`
			if text, got := standsOnFloor(t, shellTool, arguments, place); got != c.want {
				t.Errorf("%s\n  on the floor: %v, want %v %s", line, got, c.want, text)
			}
		}
	}
}

func TestFloorHoldsTools(t *testing.T) {
	place := floorPlace(t)
	for _, c := range []struct {
		server, pkg, tool, arguments string
		want                         bool
	}{
		{"md", "markitdown-mcp", "convert_to_markdown", `{"uri":"http://169.254.169.254/latest/meta-data/iam/"}`, true},
		{"x", "", "convert", `{"uri":"http://169.254.169.254/latest"}`, true},
		{"x", "", "convert", `{"uri":"http://2852039166/latest"}`, true},
		{"x", "", "convert", `{"source":{"deep":["http://[::ffff:a9fe:a9fe]/"]}}`, true},
		{"x", "", "convert", `{"uri":"http:/\\169。254。169。254/"}`, true},
		{"x", "", "convert", `{"uri":"http://[fd00:ec2::254]/latest"}`, true},
		{"x", "", "convert", `{"uri":"HTTP://Metadata.Google.Internal./computeMetadata/v1/"}`, true},
		{"x", "", "convert", `{"uri":"http://metadata/computeMetadata/v1/"}`, true},
		{"x", "", "convert", `{"uri":"http://169.254.169.254.nip.io/x"}`, true},
		{"x", "", "convert", `{"uri":"http://169-254-169-254.sslip.io/x"}`, true},
		{"x", "", "convert", `{"uri":"http://a.example\\@169.254.169.254/"}`, true},
		{"x", "", "convert", `{"host":"169.254.169.254"}`, true},
		{"x", "", "convert", `{"host":"100.100.100.200","path":"/latest"}`, true},
		{"x", "", "convert", `{"code":"await fetch('http://168.63.129.16/machine')"}`, true},
		{"x", "", "convert", `{"uri":"ftp://169.254.170.2/v2/credentials"}`, true},
		{"x", "", "convert", `{"uri":"http://169.254.169.254/latest?` + strings.Repeat("x", 70_000) + `"}`, true},
		{"x", "", "convert", `{"code":"` + strings.Repeat("x", 70_000) + ` fetch('http://169.254.169.254/latest')"}`, true},
		{"x", "", "convert", `{"code":"http://a.example/1 http://a.example/2@169.254.169.254/ http://a.example\\\\@169.254.169.254/"}`, true},
		{"x", "", "convert", `{"uri":"https://docs.example/169.254.169.254"}`, false},
		{"x", "", "convert", `{"uri":"https://docs.example/"}`, false},
		{"x", "", "search", `{"type":"metadata","text":"the metadata of a file"}`, false},
		{"f", "@modelcontextprotocol/server-filesystem", "write_file", `{"path":"notes.md","content":"never ask http://169.254.169.254/"}`, false},
		{"f", "@modelcontextprotocol/server-filesystem", "read_text_file", `{"path":"~/.ssh/config"}`, false},
		{"f", "@modelcontextprotocol/server-filesystem", "move_file", `{"source":".git","destination":"/tmp/x"}`, true},
		{"f", "@modelcontextprotocol/server-filesystem", "move_file", `{"source":"~","destination":"/tmp/x"}`, true},
		{"f", "@modelcontextprotocol/server-filesystem", "move_file", `{"source":"a.txt","destination":"b.txt"}`, false},
		{"x", "", "delete_file", `{"path":"/"}`, true},
		{"x", "", "delete_file", `{"path":"a.txt"}`, false},
		{"x", "", "delete_directory", `{"path":"."}`, true},
		{"x", "", "delete_directory", `{"path":"../app"}`, true},
		{"x", "", "delete_directory", `{"path":"sub"}`, false},
		{"x", "", "wipe", `{"folders":["~/Documents"]}`, true},
		{"x", "", "write_file", `{"path":"/dev/sda","content":"x"}`, true},
		{"x", "", "upload_file", `{"path":"~/.ssh/id_rsa"}`, true},
		{"x", "", "send_message", `{"text":"hi","attachments":["/home/u/.aws/credentials"]}`, true},
		{"x", "", "send_message", `{"text":"hi","attachments":["/home/u/My Files/../.ssh/id_rsa"]}`, true},
		{"x", "", "send_message", `{"text":"hi","attachments":["/home/u/%2essh/id_rsa"]}`, true},
		{"x", "", "send_message", `{"text":"look into ./config/.env for it"}`, false},
		{"x", "", "send_message", `{"text":"hi","attachments":["report.pdf"]}`, false},
		{"x", "", "send_message", `{"text":"put it into .env, as .env.example says\nand commit nothing"}`, false},
		{"pg", "@modelcontextprotocol/server-postgres", "query", `{"sql":"DROP TABLE executives; DROP TABLE companies"}`, true},
		{"pg", "@modelcontextprotocol/server-postgres", "query", `{"sql":"drop/**/table/**/users"}`, true},
		{"pg", "@modelcontextprotocol/server-postgres", "query", `{"sql":"drop -- a\n table users"}`, true},
		{"pg", "@modelcontextprotocol/server-postgres", "query", `{"sql":"/*!50000 drop*/ table users"}`, true},
		{"pg", "@modelcontextprotocol/server-postgres", "query", `{"sql":"select '/*'; drop table users; select '*/'"}`, true},
		{"pg", "@modelcontextprotocol/server-postgres", "query", `{"sql":"truncate table users"}`, true},
		{"pg", "@modelcontextprotocol/server-postgres", "query", `{"sql":"delete from users;"}`, true},
		{"pg", "@modelcontextprotocol/server-postgres", "query", `{"sql":"select 'x' from users"}`, false},
		{"pg", "@modelcontextprotocol/server-postgres", "query", `{"sql":"delete from users where id = 1"}`, false},
		{"pg", "@modelcontextprotocol/server-postgres", "query", `{"sql":"delete from users where 1 = 1"}`, true},
		{"pg", "@modelcontextprotocol/server-postgres", "query", `{"sql":"delete from users where 1 = 1 and id = 2"}`, false},
		{"neo", "mcp-neo4j-cypher", "write_neo4j_cypher", `{"query":"MATCH (n) DETACH DELETE n"}`, true},
		{"neo", "mcp-neo4j-cypher", "write_neo4j_cypher", `{"query":"MATCH (n:User {id: 7}) DETACH DELETE n"}`, false},
		{"dc", "@wonderwhy-er/desktop-commander", "read_file", `{"path":"http://169.254.169.254/latest/","isUrl":true}`, true},
		{"dc", "@wonderwhy-er/desktop-commander", "read_file", `{"path":"notes/169.254.169.254.md"}`, false},
		{"docker", "mcp-server-docker", "run_container", `{"image":"alpine","volumes":["/:/host"]}`, true},
		{"docker", "mcp-server-docker", "run_container", `{"image":"alpine","volumes":["/:/host:ro"]}`, false},
		{"docker", "mcp-server-docker", "run_container", `{"image":"alpine","volumes":{"/":{"bind":"/host","mode":"rw"}}}`, true},
		{"docker", "mcp-server-docker", "run_container", `{"image":"alpine","volumes":["data:/var/lib/data"]}`, false},
		{"docker", "docker-mcp", "deploy-compose", `{"compose_yaml":"services:\n  a:\n    image: x\n    volumes:\n      - /:/host\n"}`, true},
		{"docker", "docker-mcp", "deploy-compose", `{"compose_yaml":"services:\n  a:\n    volumes:\n      - {type: bind, source: /etc, target: /e}\n"}`, true},
		{"docker", "docker-mcp", "deploy-compose", `{"compose_yaml":"volumes:\n  a:\n    driver_opts: {type: none, o: bind, device: /etc}\n"}`, true},
		{"docker", "docker-mcp", "deploy-compose", `{"compose_yaml":"services:\n  a:\n    volumes:\n      - data:/var/lib/data\n      - ./src:/app\n      - /etc/localtime:/etc/localtime:ro\n      - {type: bind, source: /etc, target: /e, read_only: true}\nvolumes:\n  data: {}\n"}`, false},
		{"x", "", "docker", `{"args":["run","-v","/:/host","alpine"]}`, true},
		{"x", "", "docker", `{"args":["run","-v","data:/host","alpine","-v"]}`, false},
		{"x", "", "note", `{"text":"Both volumes: one and two.\n- volumes of the cube: 3"}`, false},
		{"x", "", "launch", `{"mounts":[{"source":"/home/u","target":"/h"}]}`, true},
		{"x", "", "apply", `{"resource":"spec:\n  volumes:\n  - name: h\n    hostPath:\n      path: /\n"}`, true},
		{"x", "", "apply", `{"resource":"spec:\n  volumes:\n  - name: h\n    hostPath:\n      path: /srv/data\n"}`, false},
		{"x", "", "apply", `{"resource":"volumes:\n- hostPath:\n    path: /srv/data\n- hostPath:\n    path: /\n"}`, true},
		{"x", "", "apply", `{"spec":{"volumes":[{"name":"h","hostPath":{"path":"/"}}]}}`, true},
		{"x", "", "apply", `{"resource":"hostPath:\n  path: '/'\n"}`, true},
		{"x", "", "apply", `{"resource":"hostPath: {path: '/'}\n"}`, true},
		{"x", "", "apply", `{"resource":"hostPath:\n  path: |-\n    /\n"}`, true},
		{"x", "", "apply", `{"resource":"hostPath:\n  subpath: x\n  path: /\n"}`, true},
		{"x", "", "apply", `{"resource":"{\"note\":\"a #1\",\"hostPath\":{\"path\":\"/\"}}"}`, true},
		{"x", "", "apply", `{"resource":"hostPath:\n  path: &a /\n"}`, true},
		{"x", "", "apply", `{"resource":"a: &r /\nhostPath:\n  path: *r\n"}`, true},
		{"x", "", "apply", `{"resource":"a: &h {path: /}\nhostPath: {<<: *h}\n"}`, true},
		{"x", "", "apply", `{"resource":"kind: A\n---\nhostPath:\n  path: !!str >2-\n    /\n"}`, true},
		{"x", "", "apply", `{"resource":"hostPath:\n  path: \"\\x2f\"\n"}`, true},
		{"x", "", "apply", `{"resource":"hostPath: {type: '}', path: /}\n"}`, true},
		{"x", "", "apply", `{"resource":"pod: '{\"hostPath\": {\"path\": \"\\u002f\"}}'\n"}`, true},
		{"x", "", "apply", `{"resource":"a: &h {path: /srv/data}\nhostPath: *h\n"}`, false},
		{"x", "", "apply", `{"resource":"hostPath: # path: /srv/data\n  path: /\n"}`, true},
		{"gql", "", "graphql", `{"query":"mutation { volumeDelete(volumeId: \"x\") }"}`, true},
		{"gql", "", "graphql", `{"query":"query { volume(id: 1) { deletedAt } }"}`, false},
	} {
		server := tools.Server{Name: c.server}
		if c.pkg != "" {
			server.Packages = []string{c.pkg}
		}
		tool := tools.Describe(server, c.tool, c.server+"_"+c.tool, []byte(`{"name":"`+c.tool+`"}`))
		if text, got := standsOnFloor(t, tool, c.arguments, place); got != c.want {
			t.Errorf("%s %s\n  on the floor: %v, want %v %s", c.tool, c.arguments, got, c.want, text)
		}
	}
}

// The text of the mark tells people that it is the floor.
func TestFloorSaysSo(t *testing.T) {
	text, ok := standsOnFloor(t, shellTool, `{"command":"rm -rf /"}`, floorPlace(t))
	if want := "The floor: the call removes or overwrites /, "; !ok || !strings.HasPrefix(text, want) {
		t.Errorf("%q, want %q …", text, want)
	}
}
