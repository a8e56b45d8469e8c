package shellparse

import (
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strings"
)

func init() {
	for names, f := range map[string]func(*analysis, *call, *scanned){
		"sed gsed": inspectSed, "awk gawk mawk nawk original-awk goawk": inspectAwk, "jq gojq jaq": inspectJq,
		"git": inspectGit, "test [": inspectTest, "read mapfile readarray unset getopts wait": inspectNames, "printf": inspectPrintf, "let": inspectLet,
		"set": inspectSet, "alias hash enable shopt bind complete compgen compopt fc history jobs zle zmodload autoload emulate setopt unsetopt bindkey sched zsocket ztcp vared print": inspectState,
		"kill killall pkill skill snice": inspectKill, "ping ping6 nslookup dig host drill resolvectl getent traceroute tracepath mtr arping whois": inspectLookup,
		"curl wget http https xh httpie": inspectFetch, "tar gtar bsdtar": inspectTar, "dd": inspectDd, "less more most": inspectLess, "rm": inspectRemove,
		"make gmake": inspectMake, "mysql mariadb psql sqlite3": inspectSQL, "docker podman nerdctl": inspectContainer, "npm pnpm yarn": inspectNpm,
		"hostname": inspectHostname, "date gdate": inspectDate, "env printenv genv": inspectEnv, "ln gln": inspectLink, "chmod chown chgrp": inspectMode, "go": inspectGo,
		"unzip": inspectUnzip, "gzip gunzip bzip2 bunzip2 xz unxz zstd unzstd": inspectPack, "export declare typeset local readonly": inspectDeclare, "dc bc": inspectCalc,
		"systemctl service launchctl": inspectService, "gh": inspectGh, "crontab at batch": inspectCron, "openssl": inspectOpenssl, "view": inspectCalc, "cargo": inspectCargo,
	} {
		for _, n := range strings.Fields(names) {
			inspectors[n] = f
		}
	}
}

func inspectKill(_ *analysis, c *call, _ *scanned) {
	after := false
	for i, w := range c.argv[1:] {
		if c.name == "kill" && w.known && (w.text == "-1" && (i > 0 || len(c.argv) == 2) || after && (w.text == "-1" || w.text == "0") || w.text == "0" && i+1 == len(c.argv)-1 && i > 0 || w.text == "1" && i > 0) {
			c.effect("every process")
		}
		after = after || w.text == "--"
		if c.name != "kill" && w.known && (w.text == "-u" || w.text == "--user" || w.text == "." || w.text == ".*" || strings.HasPrefix(w.text, "-u") || w.text == "-v" || w.text == "--inverse") {
			c.effect("every process")
		}
	}
}

// inspectLookup notes names that are sent to a resolver: a name can carry data out.
func inspectLookup(_ *analysis, c *call, _ *scanned) {
	for _, w := range c.argv[1:] {
		if !w.known {
			c.effect("network " + w.text)
			continue
		}
		if strings.HasPrefix(w.text, "-") || strings.HasPrefix(w.text, "+") || !strings.Contains(w.text, ".") {
			continue
		}
		if w.text == "localhost" || strings.HasSuffix(w.text, ".localhost") || strings.HasSuffix(w.text, ".local") {
			continue
		}
		if _, err := netip.ParseAddr(strings.TrimPrefix(w.text, "@")); err == nil {
			continue
		}
		if isNumber(strings.Replace(w.text, ".", "", 1)) {
			continue
		}
		c.effect("network " + w.text)
	}
}

// inspectFetch notes addresses that are no web pages, and requests that go to several places at once.
func inspectFetch(a *analysis, c *call, s *scanned) {
	hosts := map[string]bool{}
	for _, w := range s.operands {
		text := w.text
		if !w.known {
			text = w.head
			if text == "" {
				c.effect("address " + w.text)
				continue
			}
		}
		scheme, rest, ok := strings.Cut(text, "://")
		if !ok {
			rest = text
		} else if sch := strings.ToLower(scheme); sch != "http" && sch != "https" {
			c.effect("address " + w.text)
			if sch == "file" {
				c.reads = a.file(c.reads, word{text: strings.TrimPrefix(rest, "localhost"), known: w.known}, c.name, c.sc, false)
			}
		}
		host, _, slash := strings.Cut(rest, "/")
		if !w.known && !slash {
			// What follows the known part could still belong to the host.
			c.effect("address " + w.text)
		}
		if u, err := url.Parse("http://" + rest); err == nil && u.Host != "" {
			host = u.Host
			if u.User != nil {
				c.effect("address " + w.text)
			}
		}
		if strings.ContainsAny(host, "{[") && !strings.HasPrefix(host, "[") {
			c.effect("address " + w.text)
		}
		hosts[strings.ToLower(host)] = true
	}
	if v, ok := s.find("--url"); ok && !v.known {
		c.effect("address " + v.text)
	}
	if len(hosts) > 1 && c.name != "http" && c.name != "https" {
		c.effect("several hosts")
	}
	if c.name == "wget" {
		if _, ok := s.find("-O", "--output-document", "-P", "--directory-prefix", "--spider"); !ok && len(s.operands) > 0 {
			for _, w := range s.operands {
				base := path.Base(strings.TrimRight(w.text, "/"))
				c.writes = a.file(c.writes, word{text: base, known: w.known}, "wget", c.sc, true)
			}
		}
	}
	for _, h := range s.hits {
		if (h.name == "-O" || h.name == "--remote-name" || h.name == "--remote-name-all" || h.name == "-J") && c.name == "curl" {
			for _, w := range s.operands {
				c.writes = a.file(c.writes, word{text: path.Base(w.text), known: w.known}, "curl", c.sc, true)
			}
		}
	}
}

// inspectTar reads tar's first word, whose letters can be options without a dash, and what it packs or writes.
func inspectTar(a *analysis, c *call, s *scanned) {
	ops := s.operands
	letters := ""
	if len(c.argv) > 1 && c.argv[1].known && !strings.HasPrefix(c.argv[1].text, "-") && len(ops) > 0 {
		letters = c.argv[1].text
		ops = ops[1:]
		for _, l := range letters {
			o := a.tables.programs["tar"].set.byName["-"+string(l)]
			if o == nil || o.arg != argNeeded {
				continue
			}
			if len(ops) == 0 {
				break
			}
			a.apply(hit{opt: o, name: "-" + string(l), value: ops[0], has: true}, c)
			s.hits = append(s.hits, hit{opt: o, name: "-" + string(l), value: ops[0], has: true})
			ops = ops[1:]
		}
	}
	for _, w := range c.argv[1:] {
		if w.known && strings.HasPrefix(w.text, "-") && !strings.HasPrefix(w.text, "--") {
			letters += w.text
		}
		if !w.known && !w.safe() {
			c.effect("word " + w.text)
		}
	}
	has := func(long, short string) bool {
		if strings.Contains(letters, short) {
			return true
		}
		return slices.ContainsFunc(c.argv[1:], func(w word) bool { return w.known && strings.HasPrefix(long, w.text) && len(w.text) > 4 })
	}
	archive, named := s.find("-f", "--file")
	if named && archive.known && strings.Contains(archive.text, ":") && !strings.HasPrefix(archive.text, "/") {
		c.effect("archive " + archive.text)
	}
	// The archive was noted as read; a creating tar writes it.
	switch {
	case has("--create", "c"), has("--append", "r"), has("--update", "u"), has("--catenate", "A"), has("--delete", "\x00"):
		if named {
			c.writes = a.file(c.writes, archive, "tar", c.sc, true)
		}
		for _, w := range ops {
			c.reads = a.file(c.reads, w, "tar", c.sc, false)
		}
	case has("--extract", "x"), has("--get", "x"):
		if !strings.Contains(letters, "O") {
			for _, d := range c.sc.dirs {
				c.writes = a.file(c.writes, lit(d), "tar", &scope{dirs: here, lost: c.sc.lost}, true)
			}
			c.effect("unpacks")
		}
	}
}

func inspectUnzip(a *analysis, c *call, s *scanned) {
	for _, w := range c.argv[1:] {
		if w.known && strings.HasPrefix(w.text, "-") && strings.ContainsAny(w.text, "lptZvz") && !strings.HasPrefix(w.text, "-d") {
			return
		}
	}
	c.effect("unpacks")
	if _, ok := s.find("-d"); !ok {
		c.writes = a.file(c.writes, lit("."), "unzip", c.sc, true)
	}
}

// inspectPack drops the writes of compressors that only print.
func inspectPack(_ *analysis, c *call, s *scanned) {
	if _, ok := s.find("-c", "--stdout", "-t", "--test", "-l", "--list"); ok {
		c.reads = append(c.reads, c.writes...)
		c.writes = nil
	}
}

func inspectDd(a *analysis, c *call, _ *scanned) {
	for _, w := range c.argv[1:] {
		name, val, ok := strings.Cut(w.text, "=")
		switch {
		case !w.known && w.head == "":
			c.effect("word " + w.text)
		case ok && name == "of":
			c.writes = a.file(c.writes, word{text: val, known: w.known}, "dd", c.sc, true)
		case ok && name == "if":
			c.reads = a.file(c.reads, word{text: val, known: w.known}, "dd", c.sc, false)
		}
	}
}

func inspectLess(_ *analysis, c *call, _ *scanned) {
	for _, w := range c.argv[1:] {
		if w.known && strings.HasPrefix(w.text, "+") && strings.ContainsAny(w.text, "!|vsE:#") {
			c.effect("command " + w.text)
		}
	}
}

// inspectRemove notes operands that reach above the directory, or take it whole.
func inspectRemove(_ *analysis, c *call, s *scanned) {
	for _, w := range s.operands {
		p := path.Clean(w.text)
		if p == "/" || p == "." || p == ".." || strings.HasPrefix(p, "../") || strings.HasPrefix(w.text, "/*") || strings.HasPrefix(w.text, "~") && strings.Count(w.text, "/") < 2 {
			c.effect("removes " + w.text)
		}
	}
}

// runMake moves make's -C out of the words, so that a rule names the target: make -C sub test is make test.
func runMake(a *analysis, c *call) bool {
	for i := 1; i < len(c.argv); {
		w := c.argv[i]
		n, v := 0, word{}
		switch {
		case !w.known:
		case (w.text == "-C" || w.text == "--directory") && i+1 < len(c.argv):
			n, v = 2, c.argv[i+1]
		case strings.HasPrefix(w.text, "-C"):
			n, v = 1, lit(w.text[2:])
		case strings.HasPrefix(w.text, "--directory="):
			n, v = 1, lit(w.text[len("--directory="):])
		}
		if n == 0 {
			i++
			continue
		}
		a.chdir(v, c)
		c.globals = append(c.globals, c.argv[i:i+n]...)
		c.argv = slices.Concat(c.argv[:i], c.argv[i+n:])
	}
	return false
}

// inspectMake notes variables that are set on the command line.
func inspectMake(a *analysis, c *call, s *scanned) {
	for _, w := range s.operands {
		text := w.text
		if !w.known {
			text = w.head
		}
		name, val, ok := strings.Cut(text, "=")
		switch {
		case ok && (strings.ContainsAny(name, "!:?+$") || strings.ContainsAny(val, "$`")):
			c.effect("variable " + w.text)
		case ok:
			if e := a.tables.envEffect(name, word{text: val, known: w.known}); e != "" || strings.HasSuffix(name, "FLAGS") {
				c.effect("variable " + name)
			}
		case strings.Contains(text, "$(") || strings.HasPrefix(text, ".") && strings.ToUpper(text) == text && len(text) > 2:
			c.effect("target " + text)
		}
	}
	if c.sc.input.kind != inputNone {
		if v, ok := s.find("-f", "--file", "--makefile"); ok && v.text == "-" {
			c.effect("runs its standard input")
		}
	}
}

// inspectSQL notes the commands of database clients that leave the database.
func inspectSQL(_ *analysis, c *call, s *scanned) {
	texts := s.codes()
	if c.name == "sqlite3" && len(s.operands) > 1 {
		texts = append(texts, s.operands[1:]...)
	}
	for _, w := range texts {
		t := strings.ToLower(w.text)
		if !w.known || strings.ContainsRune(t, '\\') || strings.Contains(t, "program") || strings.Contains(t, "copy") || strings.Contains(t, "outfile") || strings.Contains(t, "dumpfile") ||
			strings.Contains(t, "load_") || strings.Contains(t, "load ") || strings.Contains(t, "pg_read") || strings.Contains(t, "lo_") || strings.Contains(t, "system") || strings.Contains(t, "source") ||
			strings.HasPrefix(strings.TrimSpace(t), ".") || strings.Contains(t, "\n.") || strings.Contains(t, "readfile") || strings.Contains(t, "writefile") || strings.Contains(t, "attach") || strings.Contains(t, "function") || strings.Contains(t, "extension") || strings.Contains(t, "edit(") || strings.Contains(t, "fts3_tokenizer") {
			c.effect("code " + w.text)
		}
	}
	if c.sc.input.kind == inputPipe || c.sc.input.kind == inputFile {
		c.effect("runs its standard input")
	}
}

// runContainer leaves the words of a container command as they are: its row says what they do.
func runContainer(a *analysis, c *call) bool {
	a.takeGlobals(c)
	if len(c.argv) < 3 || !c.argv[1].known || c.argv[1].text != "run" && c.argv[1].text != "create" {
		return false
	}
	s := containerOptions.scan(c.argv[2:], stylePOSIX)
	a.emit(c)
	if len(s.operands) > 1 && s.unknown == "" {
		in := c.inner(s.operands[1:], texts(c.argv[:2+s.rest+1]))
		in.reads, in.writes, in.outer = nil, nil, nil
		in.sc.effects, in.sc.dirs, in.sc.lost = []string{"container"}, nil, true
		mark := len(a.script.Commands)
		a.run(in)
		if privileged(&s) {
			for i := max(mark-1, 0); i < len(a.script.Commands); i++ {
				a.script.Commands[i].Escalates = true
			}
		}
	} else if privileged(&s) {
		a.script.Commands[len(a.script.Commands)-1].Escalates = true
	}
	if s.unknown != "" {
		for i := 2; i < len(c.argv) && i < 24; i++ {
			if w := c.argv[i]; w.known && w.text != "" && !strings.HasPrefix(w.text, "-") {
				in := c.inner(c.argv[i:], texts(c.argv[:i]))
				in.name = w.text
				in.sc.denyOnly = true
				a.script.Commands = append(a.script.Commands, in.command(""))
			}
		}
	}
	return true
}

var containerOptions = mustOptions("--add-host= -a,--attach= --annotation= --blkio-weight= --cap-add= --cap-drop= --cgroup-parent= --cgroupns= --cidfile=w --cpu-period= --cpu-quota= --cpu-shares,-c= --cpus= --cpuset-cpus= --cpuset-mems= -d,--detach --detach-keys= --device= --dns= --dns-option= --dns-search= --domainname= --entrypoint= -e,--env= --env-file=r --expose= --gpus= --group-add= --health-cmd= --health-interval= -h,--hostname= --init -i,--interactive --ip= --ip6= --ipc= --isolation= -l,--label= --label-file= --link= --log-driver= --log-opt= --mac-address= -m,--memory= --memory-swap= --mount= --name= --network,--net= --no-healthcheck --oom-kill-disable --pid= --pids-limit= --platform= --privileged -p,--publish= -P,--publish-all --pull= -q,--quiet --read-only --restart= --rm --runtime= --security-opt= --shm-size= --sig-proxy= --stop-signal= --stop-timeout= --storage-opt= --sysctl= --tmpfs= -t,--tty -it -ti -dit --ulimit= -u,--user= --userns= --uts= -v,--volume= --volume-driver= --volumes-from= -w,--workdir= --replace --pod= --secret= --systemd= --tz= --umask= --use-api-socket")

// privileged says that the options of a container give it the host.
func privileged(s *scanned) bool {
	for _, h := range s.hits {
		v := h.value.text
		switch h.opt.name {
		case "--privileged":
			return true
		case "--volume", "--mount":
			src := strings.SplitN(v, ":", 2)[0]
			for _, part := range strings.Split(v, ",") {
				if k, val, ok := strings.Cut(part, "="); ok && (k == "source" || k == "src") {
					src = val
				}
			}
			if src == "/" || strings.HasPrefix(src, "/etc") || strings.HasPrefix(src, "/root") || strings.HasPrefix(src, "/var/run") || strings.HasPrefix(src, "/run") || strings.HasPrefix(src, "/proc") || strings.HasPrefix(src, "/dev") || strings.HasPrefix(src, "/sys") || strings.HasPrefix(src, "/boot") || strings.HasPrefix(src, "/usr") || strings.HasPrefix(src, "/var/lib") || strings.HasPrefix(src, "/home") && strings.Count(src, "/") < 3 {
				return true
			}
		case "--pid", "--net", "--ipc", "--userns", "--uts":
			if v == "host" {
				return h.opt.name != "--net"
			}
		case "--cap-add":
			return true
		case "--security-opt":
			if strings.Contains(v, "unconfined") || strings.Contains(v, "disable") {
				return true
			}
		case "--device":
			return true
		}
	}
	return false
}

// inspectContainer notes nothing beyond the rows; the inner command was taken by the wrapper table.
func inspectContainer(_ *analysis, c *call, _ *scanned) {
	if len(c.argv) > 2 && c.argv[1].known && c.argv[2].known {
		switch c.argv[2].text {
		case "prune", "rm", "remove":
			switch c.argv[1].text {
			case "system", "volume", "network", "container", "image", "builder", "context", "buildx":
				c.effect(c.argv[1].text + " " + c.argv[2].text)
			}
		}
	}
}

// loaders are options that test runners and bundlers behind a script load code or write files by.
var loaders = []string{"--globalsetup", "--globalteardown", "--setupfiles", "--setupfilesafterenv", "--require", "--import", "--loader", "--config", "--plugin", "--rulesdir", "--resolver", "--transform",
	"--runner", "--testrunner", "--testenvironment", "--preset", "--reporter", "--reporters", "--rootdir", "--root", "--exec", "--script-shell", "--node-options", "--outputfile", "--output-file", "--outdir", "--out-dir", "--parser", "--env-file", "--resolve-plugins-relative-to", "--eval", "--inspect", "--modulenamemapper", "--snapshotserializers", "--testsequencer", "--snapshotresolver", "--watchplugins", "--haste", "--dependencyextractor", "--custom-formatter", "--hook", "--project-root", "--environment", "--formatter", "--format=."}

// inspectNpm looks at what is handed on to the program behind a script.
func inspectNpm(_ *analysis, c *call, _ *scanned) {
	if len(c.argv) < 2 {
		return
	}
	start := slices.IndexFunc(c.argv, func(w word) bool { return w.known && w.text == "--" })
	if start < 0 {
		if c.name == "npm" {
			return
		}
		start = 1
	}
	for _, w := range c.argv[start+1:] {
		if !w.known {
			if !w.safe() {
				c.effect("word " + w.text)
			}
			continue
		}
		name, _, _ := strings.Cut(strings.ToLower(w.text), "=")
		if w.text == "-r" || w.text == "-c" || w.text == "-e" {
			c.effect("option " + w.text)
		}
		for _, l := range loaders {
			if name == l || len(name) > 5 && strings.HasPrefix(name, "--") && strings.HasPrefix(l, name) {
				c.effect("option " + w.text)
			}
		}
	}
}

func inspectCargo(_ *analysis, c *call, _ *scanned) {
	start := slices.IndexFunc(c.argv, func(w word) bool { return w.known && w.text == "--" })
	if start < 0 {
		return
	}
	for _, w := range c.argv[start+1:] {
		if w.known && (strings.HasPrefix(w.text, "--logfile") || strings.HasPrefix(w.text, "-C") || strings.HasPrefix(w.text, "-Clinker")) {
			c.effect("option " + w.text)
		}
	}
}

func inspectHostname(_ *analysis, c *call, s *scanned) {
	if len(s.operands) > 0 {
		c.effect("sets the host name")
	}
}

func inspectDate(_ *analysis, c *call, s *scanned) {
	for _, w := range s.operands {
		if !w.known && !w.safe() || w.known && !strings.HasPrefix(w.text, "+") {
			c.effect("sets the clock")
		}
	}
}

func inspectEnv(_ *analysis, c *call, _ *scanned) {
	if c.name == "printenv" && len(c.argv) > 1 && !secretName(c.argv[1].text) {
		return
	}
	c.effect("prints the environment")
}

func secretName(s string) bool {
	s = strings.ToUpper(s)
	for _, k := range []string{"TOKEN", "SECRET", "PASSWORD", "PASSWD", "KEY", "CREDENTIAL", "AUTH"} {
		if strings.Contains(s, k) {
			return true
		}
	}
	return strings.HasPrefix(s, "-")
}

// inspectLink notes links that lead out of the directory.
func inspectLink(a *analysis, c *call, s *scanned) {
	if len(s.operands) > 0 {
		if t := s.operands[0]; !t.known || a.outside(joinDirs(c.sc.dirs, t.text)) {
			c.effect("links to " + t.text)
		}
	}
}

func inspectMode(_ *analysis, c *call, s *scanned) {
	if len(s.operands) > 0 && s.operands[0].known && c.name == "chmod" {
		m := s.operands[0].text
		if strings.ContainsAny(m, "st") && strings.ContainsAny(m, "+=") || len(m) == 4 && m[0] != '0' && isNumber(m) {
			c.effect("mode " + m)
		}
	}
}

// inspectGo notes programs that come from elsewhere.
func inspectGo(_ *analysis, c *call, s *scanned) {
	if len(c.argv) < 2 {
		return
	}
	switch c.argv[1].text {
	case "run", "install", "get":
		for i, w := range s.operands {
			if !w.known || strings.Contains(w.text, "@") {
				c.effect("package " + w.text)
			}
			if i == 0 && c.argv[1].text == "run" {
				break
			}
		}
	}
}

// inspectDeclare notes what export and its kin set when they are reached as commands.
func inspectDeclare(a *analysis, c *call, _ *scanned) {
	for _, w := range c.argv[1:] {
		text := w.text
		if !w.known {
			text = w.head
			if !strings.Contains(text, "=") {
				a.evaluates(c, w)
				continue
			}
		}
		if strings.HasPrefix(text, "-") {
			continue
		}
		name, val, ok := strings.Cut(text, "=")
		if strings.ContainsAny(name, "[$`") {
			a.evaluates(c, w)
		}
		if e := a.tables.envEffect(name, word{text: val, known: w.known}); ok && e != "" {
			addEffect(&a.poisons, e)
		}
	}
	if len(c.argv) == 1 || c.argv[1].text == "-p" || c.argv[1].text == "-x" {
		c.effect("prints the environment")
	}
}

// inspectCalc notes calculators that get code they can execute: dc and bc run shell commands with an
// exclamation mark.
func inspectCalc(_ *analysis, c *call, s *scanned) {
	for _, w := range s.codes() {
		if !w.known || strings.ContainsRune(w.text, '!') {
			c.effect("code " + w.text)
		}
	}
	if in := c.sc.input; c.name == "dc" && in.kind != inputNone && (!in.text.known || strings.ContainsRune(in.text.text, '!')) {
		c.effect("runs its standard input")
	}
}

func inspectService(_ *analysis, c *call, _ *scanned) {
	for _, w := range c.argv[1:] {
		switch w.text {
		case "status", "show", "list-units", "list-unit-files", "is-active", "is-enabled", "is-failed", "cat", "list", "print", "list-timers", "list-sockets", "list-dependencies":
			return
		}
	}
	c.effect("service")
}

func inspectGh(_ *analysis, c *call, _ *scanned) {
	if len(c.argv) < 3 || !c.argv[1].known || !c.argv[2].known {
		return
	}
	switch c.argv[2].text {
	case "delete", "merge", "close", "edit", "create", "rename", "archive", "transfer", "sync", "upload", "enable", "disable", "cancel", "rerun", "comment", "review", "lock", "pin", "clone", "fork", "checkout", "download":
		switch c.argv[2].text {
		case "delete", "merge", "rename", "archive", "transfer", "upload", "enable", "disable":
			c.effect(c.argv[1].text + " " + c.argv[2].text)
		}
	}
}

func inspectCron(_ *analysis, c *call, _ *scanned) {
	if c.name == "crontab" && len(c.argv) == 2 && c.argv[1].text == "-l" {
		return
	}
	c.effect("runs commands later")
}

func inspectOpenssl(_ *analysis, c *call, _ *scanned) {
	if len(c.argv) > 1 {
		switch c.argv[1].text {
		case "s_client", "s_server", "s_time", "ocsp", "engine", "prime-", "ts":
			c.effect("network")
		}
	}
}
