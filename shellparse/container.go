package shellparse

import (
	"slices"
	"strings"

	"callgate/shellparse/programs"
)

// inspectKubectl notes that secrets are printed.
func inspectKubectl(_ *analysis, c *call, _ *scanned) {
	for _, w := range c.argv[1:] {
		if w.text == "secret" || w.text == "secrets" || w.text == "--raw" || strings.Contains(w.text, ",secret") ||
			hasPrefix(w.text, "secret/", "secrets/", "secret,", "secrets,") {
			c.effectAt("secrets", w)
		}
	}
}

// runContainer leaves the words of a container command as they are: its row says what they do.
func runContainer(a *analysis, c *call) bool {
	a.takeGlobals(c)
	if len(c.argv) < 3 || !c.argv[1].known || c.argv[1].text != "run" && c.argv[1].text != "create" {
		return false
	}
	s := containerOptions.scan(c.argv[2:], programs.POSIX)
	a.mounts(c, s.hits)
	a.emit(c)
	if len(s.operands) > 1 && s.unknown == "" {
		in := c.child(s.operands[1:], texts(c.argv[:2+s.rest+1]))
		in.sc.effects, in.sc.remote, in.sc.dirs, in.sc.lost = []Effect{{Text: "container"}}, true, nil, true
		mark := len(a.script.Commands)
		a.run(in)
		if mountsHost(&s) {
			for i := max(mark-1, 0); i < len(a.script.Commands); i++ {
				a.script.Commands[i].Effects = append(slices.Clip(a.script.Commands[i].Effects), Effect{Text: "host files in a container"})
			}
		}
		if privileged(&s) {
			for i := max(mark-1, 0); i < len(a.script.Commands); i++ {
				a.script.Commands[i].Escalates = true
			}
		}
	} else if last := &a.script.Commands[len(a.script.Commands)-1]; mountsHost(&s) {
		last.Effects = append(slices.Clip(last.Effects), Effect{Text: "host files in a container"})
		last.Escalates = last.Escalates || privileged(&s)
	} else if privileged(&s) {
		a.script.Commands[len(a.script.Commands)-1].Escalates = true
	}
	if s.unknown != "" {
		a.mayRun(c)
	}
	return true
}

// mounts notes the files of this machine that a container gets.
func (a *analysis) mounts(c *call, hits []hit) {
	for _, h := range hits {
		if src := mountSource(h.value.text); (h.opt.Last == "--volume" || h.opt.Last == "--mount") && h.value.known && hasPrefix(src, "/", ".", "~") {
			a.reads(c, lit(src))
		}
	}
}

// mayRun records, for denials, each word of a container command with what follows it: behind an option that is not known it
// cannot be told which one is the command.
func (a *analysis) mayRun(c *call) {
	for i := 2; i < len(c.argv) && i < 24; i++ {
		if w := c.argv[i]; w.known && w.text != "" && !strings.HasPrefix(w.text, "-") {
			in := c.inner(c.argv[i:], texts(c.argv[:i]))
			in.name = w.text
			in.sc.denyOnly = true
			a.script.Commands = append(a.script.Commands, in.command(""))
		}
	}
}

var containerOptions = mustOptions("--add-host= -a,--attach= --annotation= --blkio-weight= --cap-add= --cap-drop= --cgroup-parent= " +
	"--cgroupns= --cidfile=w --cpu-period= --cpu-quota= --cpu-shares,-c= --cpus= --cpuset-cpus= " +
	"--cpuset-mems= -d,--detach --detach-keys= --device= --dns= --dns-option= --dns-search= --domainname= " +
	"--entrypoint= -e,--env= --env-file=r --expose= --gpus= --group-add= --health-cmd= --health-interval= " +
	"-h,--hostname= --init -i,--interactive --ip= --ip6= --ipc= --isolation= -l,--label= --label-file= " +
	"--link= --log-driver= --log-opt= --mac-address= -m,--memory= --memory-swap= --mount= --name= " +
	"--network,--net= --no-healthcheck --oom-kill-disable --pid= --pids-limit= --platform= --privileged " +
	"-p,--publish= -P,--publish-all --pull= -q,--quiet --read-only --restart= --rm --runtime= " +
	"--security-opt= --shm-size= --sig-proxy= --stop-signal= --stop-timeout= --storage-opt= --sysctl= " +
	"--tmpfs= -t,--tty -it -ti -dit --ulimit= -u,--user= --userns= --uts= -v,--volume= --volume-driver= " +
	"--volumes-from= -w,--workdir= --replace --pod= --secret= --systemd= --tz= --umask= --use-api-socket")

// mountsHost says that a container is given files of the host that programs there trust.
func mountsHost(s *scanned) bool {
	for _, h := range s.hits {
		if h.opt.Last != "--volume" && h.opt.Last != "--mount" {
			continue
		}
		src := mountSource(h.value.text)
		if src == "/" || strings.HasPrefix(src, "/home") && strings.Count(src, "/") < 3 ||
			hasPrefix(src, "/etc", "/root", "/var/run", "/run", "/proc", "/dev", "/sys", "/boot", "/usr", "/var/lib") {
			return true
		}
	}
	return false
}

// mountSource returns the host's side of a --volume or --mount.
func mountSource(v string) string {
	for _, part := range strings.Split(v, ",") {
		if k, val, ok := strings.Cut(part, "="); ok && (k == "source" || k == "src") {
			return val
		}
	}
	return strings.SplitN(v, ":", 2)[0]
}

// privileged says that the options of a container give it the host.
func privileged(s *scanned) bool {
	for _, h := range s.hits {
		v := h.value.text
		switch h.opt.Last {
		case "--privileged":
			return true
		case "--volume", "--mount":
			if strings.Contains(v, "docker.sock") || hasPrefix(mountSource(v), "/proc", "/dev", "/sys") {
				return true
			}
		case "--pid", "--net", "--ipc", "--userns", "--uts":
			if v == "host" {
				return h.opt.Last != "--net"
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

// buildContexts notes what is built from elsewhere.
func (a *analysis) buildContexts(c *call) {
	for _, w := range c.argv[2:] {
		if w.known && (hasPrefix(w.text, "/", "~", "../") || w.text == "..") && a.outside(joinDirs(c.sc.dirs, w.text)) {
			c.effectAt("context "+w.text, w)
		}
		if w.text == "-" || strings.Contains(w.text, "://") || strings.HasPrefix(w.text, "git@") {
			c.effectAt("context "+w.text, w)
		}
	}
}

// inspectContainer notes files that are copied, build contexts from elsewhere, and what is removed.
func inspectContainer(a *analysis, c *call, s *scanned) {
	if len(c.argv) > 3 && c.argv[1].known && c.argv[1].text == "cp" {
		for i, w := range s.operands {
			if w.known && (!strings.Contains(w.text, ":") || strings.HasPrefix(w.text, "/") || strings.HasPrefix(w.text, ".")) {
				if i == len(s.operands)-1 {
					a.writes(c, w)
				} else {
					a.reads(c, w)
				}
			}
		}
	}
	if len(c.argv) > 2 && c.argv[1].known && (c.argv[1].text == "build" || c.argv[1].text == "buildx") {
		a.buildContexts(c)
	}
	if len(c.argv) > 2 && c.argv[1].known && c.argv[2].known {
		switch c.argv[2].text {
		case "prune", "rm", "remove":
			switch c.argv[1].text {
			case "system", "volume", "network", "container", "image", "builder", "context", "buildx":
				c.operates(c.argv[1].text + " " + c.argv[2].text)
			}
		}
	}
}
