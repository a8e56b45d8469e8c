package shellparse

// handlers analyse the programs whose words no table describes. A handler returns true when it recorded the
// command, false when the command is to be looked at like any other.
var handlers map[string]func(*analysis, *call) bool

func init() {
	// Set here because the handlers run commands, and commands run handlers.
	handlers = map[string]func(*analysis, *call) bool{
		"env": runEnv, "genv": runEnv, "command": runCommand, "exec": runExec, "eval": runEval, "trap": runTrap,
		"xargs": runXargs, "gxargs": runXargs, "parallel": runParallel, "find": runFind, "gfind": runFind, "fd": runFd, "fdfind": runFd,
		"bash": runShell, "sh": runShell, "dash": runShell, "zsh": runShell, "ksh": runShell, "mksh": runShell, "ash": runShell,
		"rbash": runShell, "fish": runShell, "tcsh": runShell, "csh": runShell, "yash": runShell, "elvish": runShell, "nu": runShell,
		"source": runSource, ".": runSource, "su": runSu, "runuser": runSu, "ssh": runSSH, "flock": runFlock, "script": runScript,
		"watch": runWatch, "cd": runCd, "pushd": runCd, "popd": runCd, "coproc": runExec,
		"tmux": runTmux, "screen": runScreen, "nix-shell": runNix, "nix": runNix, "start-stop-daemon": runDaemon,
		"git": runGit, "docker": runContainer, "podman": runContainer, "nerdctl": runContainer,
		"make": runMake, "gmake": runMake, "concurrently": runTexts, "run-p": runTexts, "run-s": runTexts,
	}
}

func mustOptions(s string) *optset {
	set, err := compileOptions(s)
	if err != nil {
		panic(err) // a constant of this package
	}
	return set
}
