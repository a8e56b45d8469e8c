package shellparse

// wrapperRows are the programs that run another program. Each lists its options completely: one that is not
// listed makes it uncertain where the inner command begins. The forms are those of coreutils 9, util-linux
// 2.40, moreutils, and the tools' own manuals; where BSD and macOS differ, both are listed.
var wrapperRows = []Wrapper{
	// Transparent: the inner command runs as it would without them.
	{Name: "nohup", Options: "--help --version"},
	{Name: "nice", Options: "-n,--adjustment= --help --version -0 -1 -2 -3 -4 -5 -6 -7 -8 -9"},
	{
		Name:    "ionice",
		Options: "-c,--class= -n,--classdata= -t,--ignore -p,--pid= -P,--pgid= -u,--uid= -h,--help -V,--version",
	},
	{
		Name:    "timeout|gtimeout",
		Options: "-k,--kill-after= -s,--signal= -v,--verbose -f,--foreground -p,--preserve-status --help --version",
		Skip:    1,
	},
	{Name: "stdbuf|gstdbuf", Options: "-i,--input= -o,--output= -e,--error= --help --version"},
	{Name: "setsid", Options: "-c,--ctty -f,--fork -w,--wait -h,--help -V,--version"},
	{
		Name: "time|gtime",
		Options: "-f,--format= -o,--output=w -a,--append -p,--portability -v,--verbose -q,--quiet -l -h --help " +
			"-V,--version",
	},
	{
		Name: "chrt",
		Options: "-b,--batch -d,--deadline -e,--ext -f,--fifo -i,--idle -o,--other -r,--rr -R,--reset-on-fork " +
			"-T,--sched-runtime= -P,--sched-period= -D,--sched-deadline= -a,--all-tasks -m,--max -p,--pid " +
			"-v,--verbose -h,--help -V,--version",
		Skip: 1,
	},
	{Name: "taskset", Options: "-a,--all-tasks -c,--cpu-list -p,--pid -h,--help -V,--version", Skip: 1},
	{
		Name: "numactl",
		Options: "-i,--interleave= -w,--weighted-interleave= -m,--membind= -P,--preferred-many= -N,--cpunodebind= " +
			"-C,--physcpubind= -l,--localalloc -p,--preferred= -b,--balancing -a,--all -s,--show -H,--hardware",
	},
	{
		Name: "prlimit",
		Options: "-c,--core? -d,--data? -e,--nice? -f,--fsize? -i,--sigpending? -l,--memlock? -m,--rss? -n,--nofile? " +
			"-q,--msgqueue? -r,--rtprio? -s,--stack? -t,--cpu? -u,--nproc? -v,--as? -x,--locks? -y,--rttime? " +
			"-p,--pid= -o,--output= --noheadings --raw --verbose -h,--help -V,--version",
	},
	{
		Name: "setarch",
		Options: "-B,--32bit -F,--fdpic-funcptrs -I,--short-inode -L,--addr-compat-layout -R,--addr-no-randomize " +
			"-S,--whole-seconds -T,--sticky-timeouts -X,--read-implies-exec -Z,--mmap-page-zero -3,--3gb --4gb " +
			"--uname-2.6 -v,--verbose --list -h,--help -V,--version",
		Skip: 1,
	},
	{Name: "linux32|linux64|i386|x86_64", Options: "-B,--32bit -R,--addr-no-randomize -v,--verbose -3,--3gb"},
	{Name: "unbuffer", Options: "-p"},
	{Name: "caffeinate", Options: "-d -i -m -s -u -t= -w="},
	{Name: "choom", Options: "-n,--adjust= -p,--pid= -h,--help -V,--version"},
	{Name: "chronic|catchsegv|noglob|nocorrect", Options: "-e -v"},
	{Name: "builtin"},
	{Name: "cross-env|cross-env-shell", Assigns: true},
	{Name: "busybox|toybox"},
	{
		Name: "dbus-run-session|dbus-launch|xvfb-run",
		Options: "-a,--auto-servernum -e,--error-file=w -f,--auth-file=w -n,--server-num= -l,--listen-tcp " +
			"-p,--xauth-protocol= -s,--server-args= --exit-with-session --sh-syntax",
		Role: "also",
	},
	{
		Name: "strace|ltrace",
		Options: "-a= -b= -c -C -d -D -e,--trace= -E= -f,--follow-forks -F -ff -h -i -I= -k -n -N -o,--output=w -O= -p= " +
			"-P= -q -qq -r -s,--string-limit= -S= -t -tt -ttt -T -u= -U= -v -V -w -x -xx -X= -y -yy -Y -z -Z -A " +
			"--seccomp-bpf",
	},
	{
		Name: "valgrind",
		Options: "-v,--verbose -q,--quiet --tool? --leak-check? --show-leak-kinds? --track-origins? --error-exitcode? " +
			"--log-file=w --xml? --xml-file=w --suppressions=r --gen-suppressions? --num-callers? --track-fds? " +
			"--trace-children? -s",
	},
	{
		Name:    "rr|perf stat|perf record|perf trace",
		Options: "-e= -o=w -a -g -F= -d -r= -p= -t= --call-graph= -B -s -v -q",
		Role:    "also",
	},

	// Privileges.
	{
		Name: "sudo",
		Options: "-A,--askpass -b,--background -B,--bell -E,--preserve-env? -e,--edit -H,--set-home -i,--login " +
			"-k,--reset-timestamp -K,--remove-timestamp -l,--list -n,--non-interactive -N,--no-update " +
			"-P,--preserve-groups -S,--stdin -s,--shell -v,--validate -V,--version -u,--user= -g,--group= " +
			"-C,--close-from= -D,--chdir=d -h,--host= -p,--prompt= -r,--role= -t,--type= -T,--command-timeout= " +
			"-U,--other-user= -R,--chroot=",
		Assigns: true,
		Role:    "escalates",
	},
	{Name: "doas", Options: "-u= -C= -a= -n -s -L", Role: "escalates"},
	{Name: "pkexec", Options: "--user= -u= --disable-internal-agent --keep-cwd --help --version", Role: "escalates"},
	{
		Name: "run0",
		Options: "-u,--user= -g,--group= -D,--chdir= --nice= --setenv= --slice= --unit= --property= --description= --pty " +
			"--pipe --no-ask-password --background=",
		Role: "escalates",
	},
	{Name: "gosu|su-exec|setpriv", Skip: 1, Role: "escalates"},
	{Name: "sg", Options: "-c", Skip: 1, Script: true, Role: "escalates"},
	{Name: "capsh", Options: "--print", Role: "escalates"},

	// Other wrappers, which a rule has to name beside the inner command.
	{
		Name: "fakeroot|fakechroot|torsocks|torify|tsocks|proxychains|proxychains4|rlwrap|ts|tsp|pueue add|" +
			"daemonize|aa-exec|cgexec|cpulimit|eatmydata|prime-run|optirun|primusrun|mangohud|" +
			"gamemoderun|trickle|ccache|sccache|distcc|intercept-build|bear|scan-build|lockrun|softlimit|" +
			"chpst|catatonit|tini|dumb-init|heaptrack|systemd-inhibit|systemd-cat|ifne|zrun",
		Options: "-- -q -f -n -v -A -a -i -g= -l= -p= -u= -c= -o= -e= -s= -t= -r= -z=",
		Role:    "also",
	},
	{Name: "faketime", Options: "-m -f -p= --exclude-monotonic --help --version", Skip: 1, Role: "also"},
	{Name: "envuidgid|setuidgid|s6-setuidgid", Skip: 1, Role: "also"},
	{
		Name:    "ssh-agent",
		Options: "-a= -c -D -d -E= -k -O= -P=x -s -t= -T -u -U -v",
		Role:    "also",
	},
	{
		Name: "ld.so",
		Options: "--list --verify --inhibit-cache --library-path=x --glibc-hwcaps-prepend= --glibc-hwcaps-mask= " +
			"--inhibit-rpath= --audit=x --preload=x --argv0= --list-tunables --list-diagnostics --help --version",
		Role: "also",
	},
	{Name: "gdb|lldb|cgdb", Options: "--args -q -batch -n -nx", Role: "instead", Effect: "runs code"},

	// Another root, namespace, unit.
	{
		Name:    "chroot",
		Options: "--userspec= --groups= --skip-chdir --help --version -u= -g= -G= -n",
		Skip:    1,
		Role:    "escalates",
	},
	{
		Name: "unshare",
		Options: "-m,--mount? -u,--uts? -i,--ipc? -n,--net? -p,--pid? -U,--user? -C,--cgroup? -T,--time? -f,--fork " +
			"--kill-child? --mount-proc? -r,--map-root-user -c,--map-current-user --map-auto --propagation= " +
			"-R,--root= -w,--wd=d -S,--setuid= -G,--setgid= --map-user= --map-group= --map-users= --map-groups= " +
			"--setgroups= --keep-caps",
		Role:   "also",
		Effect: "namespace",
	},
	{
		Name: "nsenter",
		Options: "-a,--all -t,--target= -m,--mount? -u,--uts? -i,--ipc? -n,--net? -p,--pid? -U,--user? -C,--cgroup? " +
			"-T,--time? -S,--setuid= -G,--setgid= --preserve-credentials -r,--root? -w,--wd? -W,--wdns= -e,--env " +
			"-F,--no-fork",
		Role: "escalates",
	},
	{
		Name: "systemd-run",
		Options: "--scope -u,--unit= -p,--property= --description= --slice= --slice-inherit --expand-environment= " +
			"-r,--remain-after-exit --send-sighup --service-type= --uid= --gid= --nice= --working-directory=d " +
			"-d,--same-dir -E,--setenv= -t,--pty -P,--pipe -q,--quiet -S,--shell -G,--collect --no-block --wait " +
			"--user --system -H,--host= -M,--machine= --on-active= --on-boot= --on-startup= --on-calendar= " +
			"--timer-property= --no-ask-password",
		Role:   "also",
		Effect: "service",
	},
	{
		Name: "machinectl shell|lxc exec|incus exec|multipass exec|nerdctl exec",
		Options: "-q,--quiet --uid= -E,--setenv= --env= --user= --group= --cwd= -t,--force-interactive -T -n --mode= -u= " +
			"-d= -w=",
		Skip:   1,
		Role:   "also",
		Effect: "container",
	},

	// Shell texts.
	{
		Name: "watch",
		Options: "-b,--beep -c,--color -C,--no-color -d,--differences? -e,--errexit -f,--follow -g,--chgexit " +
			"-n,--interval= -p,--precise -q,--equexit= -r,--no-rerun -s,--shotsdir=t -t,--no-title -w,--no-wrap " +
			"-h,--help -v,--version -x,--exec",
		Script: true,
	},
	{Name: "entr", Options: "-a -c -cc -d -n -p -r -s -x -z", Role: "also"},
	{
		Name: "hyperfine",
		Options: "-w,--warmup= -m,--min-runs= -M,--max-runs= -r,--runs= -s,--setup=x -p,--prepare=x -c,--cleanup=x " +
			"-P,--parameter-scan= -L,--parameter-list= -S,--shell=x -N -i,--ignore-failure --style= --export-json=w " +
			"--export-csv=w --export-markdown=w -n,--command-name= --show-output --input=r --output=w -u,--time-unit=",
		Style:  "long",
		Script: true,
		Role:   "also",
	},

	// Another machine, container or pod: the inner command runs there.
	{
		Name: "docker exec|podman exec",
		Options: "-d,--detach -e,--env= --env-file=r -i,--interactive -t,--tty -it -ti --privileged -u,--user= " +
			"-w,--workdir= --detach-keys=",
		Skip: 1,
		Role: "also",
	},
	{
		Name: "docker compose exec|docker compose run|docker-compose exec|docker-compose run|podman compose exec",
		Options: "-d,--detach -e,--env= --index= -T,--no-TTY --no-tty --privileged -u,--user= -w,--workdir= --rm " +
			"--no-deps -p,--publish= -v,--volume=! --name= --entrypoint=x --build --service-ports -i,--interactive " +
			"-P --use-aliases -l,--label= -q --quiet-pull",
		Skip: 1,
		Role: "also",
	},
	{
		Name: "kubectl exec|kubectl rsh",
		Options: "-c,--container= -i,--stdin -t,--tty -it -ti -n,--namespace= -f,--filename=r -q,--quiet " +
			"--pod-running-timeout= --context=",
		Skip: 1,
		Role: "also",
	},
	{
		Name:    "lerna exec|nx exec|yarn workspaces foreach|repo forall|meta exec|west forall|rush-pnpm exec|heft exec|oao all|wsrun|ultra",
		Options: "--scope= --ignore= --concurrency= --since? --no-bail --parallel --stream --no-prefix --no-private --no-sort --include-dependencies -c,--call= --profile -p -v -A,--all -i -j= -t",
		Style:   "posix",
		Script:  true,
		Role:    "also",
	},
	{Name: "adb shell", Options: "-e= -n -T -t -x", Script: true, Role: "also"},
	{
		Name:    "mosh",
		Options: "--ssh=x --server=x --client=x -p,--port= -4 -6 -n -a --predict=",
		Skip:    1,
		Role:    "also",
	},

	// Project environments: the inner words are part of what a rule names.
	{
		Name: "uv run",
		Options: "--with=! --with-editable=! --with-requirements=! -p,--python= --extra= --all-extras --no-extra= " +
			"--group= --no-group= --only-group= --only-dev --dev --no-dev --all-groups --no-default-groups --frozen " +
			"--locked --no-sync --no-project --isolated --active --exact --no-env-file --env-file=r --package= " +
			"--all-packages --project=d --directory=d -q,--quiet -v,--verbose --offline --no-progress --color= " +
			"--refresh --no-cache -n -U,--upgrade --reinstall -i,--index-url=! --index=! --extra-index-url=! " +
			"--default-index=! -m,--module:c -s,--script --no-config --config-file=x",
		Role: "instead",
	},
	{
		Name: "poetry run|pipenv run|pdm run|rye run|hatch run|pixi run|rbenv exec|pyenv exec|nodenv exec|asdf exec|" +
			"bundle exec|bin/bundle exec|volta run",
		Options: "-q,--quiet -v,--verbose --no-interaction -n -s,--site-packages --keep-file-descriptors --gemfile=x",
		Role:    "instead",
	},
	{
		Name:    "mise exec|mise x|mise run|rtx exec",
		Options: "-C,--cd=d -j,--jobs= -c,--command=c --raw -q,--quiet -v,--verbose -y,--yes",
		Role:    "instead",
		Effect:  "tool manager",
	},
	{
		Name: "conda run|mamba run|micromamba run",
		Options: "-n,--name= -p,--prefix=x --no-capture-output --live-stream -v,--verbose --cwd=d -a,--attach= --dev " +
			"--debug-wrapper-scripts",
		Role: "instead",
	},
	{
		Name:    "pnpm exec|yarn exec|pnpm -r exec",
		Options: "-r,--recursive --parallel --filter= -w,--workspace-root --silent -c,--shell-mode",
		Role:    "instead",
	},
	{Name: "ip netns exec", Skip: 1, Effect: "network namespace"},
	{Name: "direnv exec", Skip: 1, Role: "instead", Effect: "environment of a directory"},
	{
		Name: "devbox run|op run|doppler run|infisical run|chamber exec|aws-vault exec|sops exec-env|dotenv|" +
			"dotenvx run|envchain|envdir|teller run|flox activate",
		Options: "-f=r -e= --env-file=r -o,--overload -p,--project= -c,--config= --no-masking -q,--quiet --",
		Role:    "instead",
		Effect:  "secrets in the environment",
	},
	{
		Name: "npx|npm exec|npm x|bunx|bun x|pnpm dlx|pnpx|yarn dlx|uvx|uv tool run|pipx run|deno x",
		Options: "-y,--yes --no --no-install -q,--quiet -s,--silent --package=! -p=! --from=! --with=! --spec=! " +
			"--registry=! --index-url=! --python= -w,--workspace= --workspaces --prefer-offline --offline --bun " +
			"--prefix=d --ignore-existing -c,--call=c --shell-mode --no-cache --isolated",
		Role: "download",
	},
	{
		Name: "nodemon|ts-node-dev|watchexec|reflex|air",
		Options: "-w,--watch= -e,--ext,--exts= -x,--exec=c -q,--quiet -r,--restart= -i,--ignore= -c,--clear --delay= " +
			"--inspect -d,--delay= -s= -g=",
		Role: "instead",
	},
}
