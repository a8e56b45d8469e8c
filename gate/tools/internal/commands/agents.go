package commands

import (
	"strings"

	"callgate/gate/tools/internal/wording"
	"callgate/shellparse"
	"callgate/shellparse/programs"
)

// OtherAgent says what a command does that starts another agent, as the end of a sentence like those of Destroys.
const OtherAgent = "starts another agent, whose calls no rule here sees"

// agentAsks are words that give an agent no task.
var agentAsks = wording.Set("--version -v -V version --help -h help login logout auth whoami doctor models completion completions status usage update upgrade")

func startsAgent(c *shellparse.Command) bool {
	if len(c.Argv) == 0 || !c.Argv[0].Known {
		return false
	}
	name, args := c.Argv[0].Value, c.Argv[1:]
	if Known(name).Has(programs.PackageRunner) {
		for i, w := range args {
			if w.Known && !IsOption(w.Value) && isAgent(w.Value, args[i+1:]) {
				return true
			}
			if value, ok := strings.CutPrefix(w.Value, "--package="); ok && isAgent(value, nil) {
				return true
			}
		}
		return false
	}
	for name, args := range commandNames(c) {
		if isAgent(name, args) {
			return true
		}
	}
	return false
}

func isAgent(program string, args []shellparse.Word) bool {
	if i := strings.LastIndexByte(program, '@'); i > 0 { // a version, not the scope of a package
		program = program[:i]
	}
	name := PlainName(program)
	first := ""
	for _, w := range args {
		if w.Known && !IsOption(w.Value) {
			first = w.Value
			break
		}
	}
	switch {
	case programs.Find(name, first).Has(programs.Agent):
		return !agentOnlyAsks(args[1:])
	case programs.Find(program).Has(programs.Agent), programs.Find(name).Has(programs.Agent) && !strings.HasPrefix(program, "@"):
		return !agentOnlyAsks(args)
	}
	return false
}

// agentOnlyAsks reports whether the words give an agent no task.
func agentOnlyAsks(args []shellparse.Word) bool {
	return len(args) > 0 && len(args) < 3 && args[0].Known && agentAsks[args[0].Value] || len(args) > 0 && args[0].Value == "mcp"
}

// ungated are words that tell an agent not to ask, whatever program gets them.
var ungated = []string{"--dangerously", "--yolo", "--trust-all-tools", "--full-auto", "--allow-all-tools", "--allow-all-paths", "--skip-permissions", "--no-sandbox-agent",
	"--auto-approve", "--yes-always", "bypassPermissions", "danger-full-access", "--permission-mode=bypass", "--bypass-permissions", "--no-permission", "--unsafe-mode",
	"--approval-mode=yolo", "--approval-mode=full-auto", "--approve-all", "--allow-all", "--disable-permissions", "--trust-tools"}

// ungatedAgent are words that mean this only to an agent.
var ungatedAgent = wording.Set("-y --yes --force -f yolo full-auto never --auto auto --headless dontAsk acceptEdits --always-approve --no-confirm --accept-all bypass")

// TellsNotToAsk returns the word or variable of a command that tells another agent not to ask, or "". agent says that
// the command starts an agent.
func TellsNotToAsk(c *shellparse.Command, agent bool) string {
	for i := range c.Argv {
		if i == 0 || !c.Argv[i].Known {
			continue
		}
		word := c.Argv[i].Value
		if len(word) < 2 || !agent && !strings.HasPrefix(word, "--") && word[0] != 'b' && word[0] != 'd' {
			continue
		}
		for _, u := range ungated {
			if strings.HasPrefix(word, u) || strings.HasSuffix(word, "="+u) {
				return word
			}
		}
		if agent && ungatedAgent[word] {
			return word
		}
	}
	if agent {
		for _, a := range c.Env {
			if variableTellsNotToAsk(a) {
				return a.Name + "=" + a.Value.Value
			}
		}
	}
	return ""
}

// variableTellsNotToAsk reports whether a variable tells an agent not to ask.
func variableTellsNotToAsk(a shellparse.Assignment) bool {
	if strings.HasSuffix(a.Name, "_MODE") && (a.Value.Value == "auto" || a.Value.Value == "yolo") {
		return true
	}
	return strings.Contains(a.Name, "PERMISSION") || strings.Contains(a.Name, "YOLO") || strings.Contains(a.Name, "DANGEROUS")
}
