package inspect

import (
	"slices"
	"strings"

	"callgate/internal/lazyregexp"
	"callgate/shellparse/internal/walk"
	"callgate/shellparse/internal/word"
	"callgate/shellparse/programs"
	"callgate/shellparse/script"
)

// inspectKubectl records secrets that are printed, addresses that are fetched, and the file of an output format.
func inspectKubectl(a *walk.Walker, c *walk.Call, _ *word.Scanned) {
	for _, w := range c.Argv[1:] {
		format, file, ok := strings.Cut(w.Text, "file=")
		if format = strings.TrimPrefix(format, "--output="); ok && !strings.HasPrefix(format, "--") && (strings.HasSuffix(format, "-") || strings.HasSuffix(format, "template")) {
			a.Reads(c, word.Word{Text: file, Known: w.Known})
		}
		if w.Text == "secret" || w.Text == "secrets" || w.Text == "--raw" || strings.Contains(w.Text, ",secret") ||
			word.HasPrefix(w.Text, "secret/", "secrets/", "secret,", "secrets,") {
			c.EffectAt("secrets", w)
		}
		if strings.Contains(w.Text, "://") {
			c.EffectAt("address "+w.Text, w)
		}
	}
}

// runContainer runs the command of a container and keeps the container command's own words: its row says what they do.
func runContainer(a *walk.Walker, c *walk.Call) bool {
	takeGlobals(a, c)
	if len(c.Argv) < 3 || !c.Argv[1].Known || c.Argv[1].Text != "run" && c.Argv[1].Text != "create" {
		return false
	}
	s := containerOptions.Scan(c.Argv[2:], programs.POSIX)
	mounts(a, c, s.Hits)
	a.Emit(c)
	if len(s.Operands) > 1 && s.Unknown == "" {
		in := c.Child(s.Operands[1:], word.JoinTexts(c.Argv[:2+s.Rest+1]))
		in.Sc.Effects, in.Sc.Remote, in.Sc.Dirs, in.Sc.Lost = []script.Effect{{Text: "container"}}, true, nil, true
		mark := len(a.Found.Script.Commands)
		a.Run(in)
		if mountsHost(&s) {
			for i := max(mark-1, 0); i < len(a.Found.Script.Commands); i++ {
				a.Found.Script.Commands[i].Effects = append(slices.Clip(a.Found.Script.Commands[i].Effects), script.Effect{Text: "host files in a container"})
			}
		}
		if privileged(&s) {
			for i := max(mark-1, 0); i < len(a.Found.Script.Commands); i++ {
				a.Found.Script.Commands[i].Escalates = true
			}
		}
	} else if last := &a.Found.Script.Commands[len(a.Found.Script.Commands)-1]; mountsHost(&s) {
		last.Effects = append(slices.Clip(last.Effects), script.Effect{Text: "host files in a container"})
		last.Escalates = last.Escalates || privileged(&s)
	} else if privileged(&s) {
		a.Found.Script.Commands[len(a.Found.Script.Commands)-1].Escalates = true
	}
	if s.Unknown != "" {
		mayRun(a, c)
	}
	return true
}

// mounts records the files of this machine that a container gets.
func mounts(a *walk.Walker, c *walk.Call, hits []word.Hit) {
	for _, h := range hits {
		if src := mountSource(h.Value.Text); (h.Opt.Last == "--volume" || h.Opt.Last == "--mount") && h.Value.Known && word.HasPrefix(src, "/", ".", "~") {
			a.Reads(c, word.Lit(src))
		}
	}
}

// mayRun records, for denials, each word of a container command with the words after it, because after an unknown
// option any word may begin the inner command.
func mayRun(a *walk.Walker, c *walk.Call) {
	for i := 2; i < len(c.Argv) && i < 24; i++ {
		if w := c.Argv[i]; w.Known && w.Text != "" && !strings.HasPrefix(w.Text, "-") {
			in := c.Inner(c.Argv[i:], word.JoinTexts(c.Argv[:i]))
			in.Name = w.Text
			in.Sc.DenyOnly = true
			a.Found.Script.Commands = append(a.Found.Script.Commands, in.Command(""))
		}
	}
}

var containerOptions = word.MustOptions("--add-host= -a,--attach= --annotation= --blkio-weight= --cap-add= --cap-drop= --cgroup-parent= " +
	"--cgroupns= --cidfile=w --cpu-period= --cpu-quota= --cpu-shares,-c= --cpus= --cpuset-cpus= " +
	"--cpuset-mems= -d,--detach --detach-keys= --device= --device-cgroup-rule= --dns= --dns-option= --dns-search= --domainname= " +
	"--entrypoint= -e,--env= --env-file=r --expose= --gpus= --group-add= --health-cmd= --health-interval= " +
	"-h,--hostname= --init -i,--interactive --ip= --ip6= --ipc= --isolation= -l,--label= --label-file= " +
	"--link= --log-driver= --log-opt= --mac-address= -m,--memory= --memory-swap= --mount= --name= " +
	"--network,--net= --no-healthcheck --oom-kill-disable --pid= --pids-limit= --platform= --privileged " +
	"-p,--publish= -P,--publish-all --pull= -q,--quiet --read-only --restart= --rm --runtime= " +
	"--security-opt= --shm-size= --sig-proxy= --stop-signal= --stop-timeout= --storage-opt= --sysctl= " +
	"--tmpfs= -t,--tty -it -ti -dit --ulimit= -u,--user= --userns= --uts= -v,--volume= --volume-driver= " +
	"--volumes-from= -w,--workdir= --replace --pod= --secret= --systemd= --tz= --umask= --use-api-socket")

// mountsHost reports whether a container gets files of the host that programs there trust.
func mountsHost(s *word.Scanned) bool {
	for _, h := range s.Hits {
		if h.Opt.Last != "--volume" && h.Opt.Last != "--mount" {
			continue
		}
		src := mountSource(h.Value.Text)
		if src == "/" || strings.HasPrefix(src, "/home") && strings.Count(src, "/") < 3 ||
			word.HasPrefix(src, "/etc", "/root", "/var/run", "/run", "/proc", "/dev", "/sys", "/boot", "/usr", "/var/lib") {
			return true
		}
	}
	return false
}

// mountSource returns the host's side of a --volume or --mount value.
func mountSource(v string) string {
	for part := range strings.SplitSeq(v, ",") {
		if k, val, ok := strings.Cut(part, "="); ok && (k == "source" || k == "src") {
			return val
		}
	}
	return strings.SplitN(v, ":", 2)[0]
}

// runtimeSocket matches the socket of the program that runs a machine's containers.
var runtimeSocket = lazyregexp.New(`(?:docker|containerd|podman|crio)\.sock`)

// privileged reports whether the options of a container give it control of the host.
func privileged(s *word.Scanned) bool {
	for _, h := range s.Hits {
		v := h.Value.Text
		switch h.Opt.Last {
		case "--privileged":
			return true
		case "--volume", "--mount":
			if runtimeSocket.MatchString(v) || word.HasPrefix(mountSource(v), "/proc", "/dev", "/sys") {
				return true
			}
		case "--pid", "--net", "--ipc", "--userns", "--uts":
			if v == "host" && h.Opt.Last != "--net" {
				return true
			}
		case "--cap-add", "--device-cgroup-rule", "--use-api-socket":
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

// buildContexts records build contexts from elsewhere.
func buildContexts(a *walk.Walker, c *walk.Call) {
	for _, w := range c.Argv[2:] {
		if w.Known && (word.HasPrefix(w.Text, "/", "~", "../") || w.Text == "..") && a.Outside(word.JoinDirs(c.Sc.Dirs, w.Text)) {
			c.EffectAt("context "+w.Text, w)
		}
		if w.Text == "-" || strings.Contains(w.Text, "://") || strings.HasPrefix(w.Text, "git@") {
			c.EffectAt("context "+w.Text, w)
		}
	}
}

// inspectContainer records files that are copied, build contexts from elsewhere, and objects that are removed.
func inspectContainer(a *walk.Walker, c *walk.Call, s *word.Scanned) {
	if len(c.Argv) > 3 && c.Argv[1].Known && c.Argv[1].Text == "cp" {
		for i, w := range s.Operands {
			if w.Known && (!strings.Contains(w.Text, ":") || strings.HasPrefix(w.Text, "/") || strings.HasPrefix(w.Text, ".")) {
				if i == len(s.Operands)-1 {
					a.Writes(c, w)
				} else {
					a.Reads(c, w)
				}
			}
		}
	}
	if len(c.Argv) > 2 && c.Argv[1].Known && (c.Argv[1].Text == "build" || c.Argv[1].Text == "buildx") {
		buildContexts(a, c)
	}
	if len(c.Argv) > 2 && c.Argv[1].Known && c.Argv[2].Known {
		switch c.Argv[2].Text {
		case "prune", "rm", "remove":
			switch c.Argv[1].Text {
			case "system", "volume", "network", "container", "image", "builder", "context", "buildx":
				c.Operates(c.Argv[1].Text + " " + c.Argv[2].Text)
			}
		}
	}
}
