package lint

import (
	"fmt"
	"slices"
	"strings"

	"callgate/permissions"
	"callgate/shellparse"
)

// probe is a command that a rule may cover by mistake. A pattern that covers it on purpose contains loud.
type probe struct{ command, loud string }

// lossyProbes lists commands that lose data or history.
var lossyProbes = []probe{
	{"git push --force origin main", "force"}, {"git reset --hard HEAD~1", "reset"}, {"git clean -fdx", "clean"},
	{"git branch -D main", "-D"}, {"git checkout -- .", "checkout"}, {"git stash drop", "drop"},
	{"rm -rf build", "rm"}, {"find . -delete", "-delete"}, {"rsync -a --delete a/ b/", "delete"},
	{"docker system prune -af", "prune"}, {"kubectl delete namespace prod", "delete"}, {"terraform destroy", "destroy"},
	{"aws s3 rm s3://bucket --recursive", "rm"}, {"gh repo delete acme/app", "delete"}, {"npm publish", "publish"},
	{"systemctl stop sshd", "stop"}, {"dropdb prod", "dropdb"}, {"dd if=a of=/dev/sda", "dd"},
	{"truncate -s0 data.db", "truncate"},
}

// interpretingProbes lists commands that run any program or code given to them. A pattern that names its script or
// image matches none of them.
var interpretingProbes = []probe{
	{command: "bash any-script.sh"}, {command: "sh any-script.sh"}, {command: "zsh any-script.sh"}, {command: "dash any-script.sh"},
	{command: "fish any-script.fish"}, {command: "python -c code"}, {command: "python3 -c code"}, {command: "node -e code"},
	{command: "deno run any-script.ts"}, {command: "bun -e code"}, {command: "perl -e code"}, {command: "ruby -e code"},
	{command: "php -r code"}, {command: "lua -e code"}, {command: "Rscript -e code"}, {command: "osascript -e code"},
	{command: "pwsh -Command code"}, {command: "powershell -Command code"}, {command: "npx any-package"}, {command: "bunx any-package"},
	{command: "pnpm dlx any-package"}, {command: "yarn dlx any-package"}, {command: "npm exec any-package"}, {command: "uvx any-package"},
	{command: "pipx run any-package"}, {command: "go run any.example/package@latest"}, {command: "docker run any-image command"},
	{command: "ssh any-host command"}, {command: "source any-file"},
}

// escalating lists programs that gain privileges. callgate refuses them before it looks at rules.
var escalating = []string{"sudo", "doas", "su", "pkexec", "run0", "chroot", "nsenter"}

// shell checks a rule that is about commands.
func (l *linter) shell() {
	r := l.at
	subject := permissions.Subject{Tool: permissions.ShellKind, Kind: permissions.ShellKind, KindBound: true}
	if !r.tool.Match(permissions.ShellKind) {
		i := slices.IndexFunc(l.options.Tools, func(t Tool) bool { return t.Kind == permissions.ShellKind && r.tool.Match(t.Name) })
		if i < 0 {
			return
		}
		subject.Tool = l.options.Tools[i].Name
	}
	if r.pattern.All {
		if r.Action == permissions.Allow && l.decides(subject, "any command") {
			l.add("broad", Warning, "It lets every command run, except those that callgate itself stops.",
				`Make it "ask", and allow commands one by one: "git status *", "npm run test *".`)
		}
		return
	}
	if l.spelling() {
		return
	}
	if r.Action == permissions.Allow {
		l.stopsShort()
		l.covered(subject, lossyProbes, "lossy", "which loses data or history", `Name the subcommands that you mean, or add a "confirm" rule for these commands below it.`)
		l.covered(subject, interpretingProbes, "interpreter", "which runs whatever program or code it is given", "Allow the exact scripts that you mean, and let the rest ask.")
	}
}

// operationProbes lists operations that a pattern for only the program does not reach.
var operationProbes = []string{
	"npm install any-package", "npm run any-script", "yarn add any-package", "pnpm add any-package", "git push origin main", "go run ./any", "cargo install any-crate",
	"pip install any-package", "bash any-script.sh", "sh any-script.sh", "python3 -c code", "python -c code", "node -e code", "aws s3 rm s3://any", "gcloud compute instances delete any", "docker compose up", "docker run any-image",
	"kubectl delete pod any", "terraform apply", "gh pr create", "helm uninstall any", "npx any-package", "uv run any-tool", "poetry run any-tool", "deno run any.ts", "brew install any",
}

// stopsShort reports what an allow does not reach, and which pattern would.
func (l *linter) stopsShort() {
	p := l.at.pattern
	for _, probe := range operationProbes {
		reach, _ := reachOf(probe)
		exact, _, _ := p.Spells(probe)
		if reach == 0 || exact == 0 || exact >= reach || !p.Glob.Match(probe) {
			continue
		}
		l.add("stops-short", Note, fmt.Sprintf("It allows commands that read, build, test or change the workspace. It does not reach %q, for example.", probe),
			fmt.Sprintf("Add %q to allow that too.", probe[:reach]+" *"))
		return
	}
}

// reachOf returns what a rule for the only command of a text has to spell out: bytes that name its operation, and
// effects.
func reachOf(command string) (operation int, effects []permissions.Effect) {
	script := shellparse.Parse(command, shellparse.Options{})
	if len(script.Commands) == 0 {
		return 0, nil
	}
	c := &script.Commands[0]
	span := func(n int) int {
		return len((&shellparse.Command{Argv: c.Argv[:min(n, len(c.Argv))]}).Text())
	}
	for _, e := range c.Effects {
		named := e.Named
		switch {
		case named > 0:
			named = span(named)
		case named == shellparse.Whole:
			named = permissions.Whole
		default:
			named = 0
		}
		effects = append(effects, permissions.Effect{Text: e.Text, Named: named})
	}
	if c.Operation == 0 {
		return len(c.Text()), effects
	}
	return span(c.Operation), effects
}

// decides reports whether the rule decides about the command.
func (l *linter) decides(s permissions.Subject, command string) bool {
	s.Decides = permissions.Form{command}
	s.Operation, s.Effects = reachOf(command)
	return permissions.Evaluate(l.policy, permissions.Context{}, &s).Rule == l.at.Rule
}

// covered looks for commands that the rule allows without spelling them out.
func (l *linter) covered(s permissions.Subject, probes []probe, check, what, cure string) {
	var found []string
	for _, p := range probes {
		if (p.loud == "" || !strings.Contains(l.at.Pattern, p.loud)) && !l.at.pattern.Glob.IsLiteral() && l.decides(s, p.command) {
			found = append(found, fmt.Sprintf("%q", p.command))
		}
	}
	if len(found) > 0 {
		l.add(check, Warning, fmt.Sprintf("It also covers %s, %s.", list(found), what), cure)
	}
}

// spelling checks how the pattern is written. It returns true if the pattern cannot work at all.
func (l *linter) spelling() bool {
	r, text := l.at, l.at.Pattern
	first, _, _ := strings.Cut(text, " ")
	if r.Action > permissions.Confirm && slices.Contains(escalating, first) {
		l.add("wrapper", Warning, fmt.Sprintf("%s gains privileges: whatever rules say, callgate refuses that, or asks with \"escalation: ask\".", first), "Remove it.")
		return true
	}
	if asked, wrapped := l.askedInstead(); len(asked) > 0 {
		check, why := "never-matches", "Rules judge each command of a line by itself: its words, without operators, redirections and variables."
		if wrapped {
			check, why = "wrapper", fmt.Sprintf("callgate looks through %s and judges the command inside.", first)
		}
		l.add(check, Warning, fmt.Sprintf("%s Here rules see %s, which the pattern does not match.", why, list(asked)), fmt.Sprintf("Write a pattern that matches %s.", list(asked)))
		return true
	}
	switch {
	case r.pattern.Glob.IsLiteral() && r.Action <= permissions.Confirm && strings.Count(text, " ") >= max(headWords(text), 1):
		l.add("prefix", Warning, "It covers only these exact words: one more argument gets around it.", fmt.Sprintf("Write %q.", text+" *"))
	case r.pattern.Glob.IsLiteral() && r.Action == permissions.Allow && strings.Count(text, " ") < 2 && !l.hasPrefixRule(text):
		l.add("prefix", Note, "It covers only these exact words, without any further arguments.", fmt.Sprintf("Write %q to allow arguments too.", text+" *"))
	case r.Action == permissions.Allow && r.pattern.Overreaches(permissions.Form{r.pattern.Glued + "x"}, headWords(r.pattern.Glued)):
		l.add("glued-star", Note, fmt.Sprintf("The star stands for arguments only, because the last word names the command: the rule does not allow %q, for example.", r.pattern.Glued+"x"),
			fmt.Sprintf("Write %q.", r.pattern.Glued+" *"))
	}
	return false
}

// headWords returns how many words name the command.
func headWords(command string) int {
	script := shellparse.Parse(command, shellparse.Options{})
	if len(script.Commands) != 1 {
		return 0
	}
	return shellparse.Arity(script.Commands[0].Argv)
}

// hasPrefixRule reports whether another rule is about the command with arguments.
func (l *linter) hasPrefixRule(text string) bool {
	return slices.ContainsFunc(l.rules, func(r rule) bool { return r.Pattern == text+" *" })
}

// askedInstead reads the pattern as shell text, with a word for each `*`. If rules would not see a command that the
// pattern matches, it returns the commands that they see. wrapped means that a wrapper runs these.
func (l *linter) askedInstead() (asked []string, wrapped bool) {
	for _, command := range l.at.pattern.Glob.Filled("x") {
		script := shellparse.Parse(command, shellparse.Options{})
		if len(script.Problems) > 0 || slices.ContainsFunc(script.Commands, l.seen) {
			continue
		}
		for i := range script.Commands {
			c := &script.Commands[i]
			wrapped = wrapped || len(c.Via) > 0
			asked = append(asked, fmt.Sprintf("%q", c.Text()))
		}
	}
	slices.Sort(asked)
	return slices.Compact(asked), wrapped
}

// seen reports whether the rule would match the command.
func (l *linter) seen(c shellparse.Command) bool {
	if l.at.Action > permissions.Confirm {
		return l.at.pattern.Glob.Match(c.Text())
	}
	return slices.ContainsFunc(c.Forms(), l.at.pattern.Glob.Match)
}
