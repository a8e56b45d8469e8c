package inspect

import (
	"slices"
	"strings"

	"callgate/internal/lazyregexp"
	"callgate/shellparse/internal/walk"
	"callgate/shellparse/internal/word"
)

// goals are parts of Maven's goals that start programs, publish, fetch what their properties name, or show all settings
// and variables.
var goals = strings.Fields("antrun :get :copy :unpack help:effective-settings help:system :purge-local-repository")

// inspectMaven notes goals that do more than build.
func inspectMaven(a *walk.Walker, c *walk.Call, s *word.Scanned) {
	for _, w := range s.Operands {
		switch {
		case strings.Contains(w.Text, "exec") && strings.Contains(w.Text, ":"), word.HasPrefix(w.Text, "deploy", "release"),
			slices.ContainsFunc(goals, func(part string) bool {
				return strings.HasSuffix(w.Text, part) || part[0] != ':' && strings.Contains(w.Text, part)
			}),
			strings.HasSuffix(w.Text, ":evaluate") && !evaluatesProject(s),
			(strings.HasSuffix(w.Text, ":copy-dependencies") || strings.HasSuffix(w.Text, ":unpack-dependencies")) && fillsFolder(a, c, s):
			c.EffectAt("goal "+w.Text, w)
		}
	}
}

// fillsFolder says that goals put what they copy in another folder than those that builds fill.
func fillsFolder(a *walk.Walker, c *walk.Call, s *word.Scanned) bool {
	return slices.ContainsFunc(s.Hits, func(h word.Hit) bool {
		folder, ok := strings.CutPrefix(h.Value.Text, "outputDirectory=")
		return ok && !(h.Value.Known && generated(a, c, folder)) || !h.Value.Known && strings.HasPrefix(h.Value.Head, "outputDirectory")
	})
}

// evaluatesProject says that the expression of help:evaluate is a fact of the project, and no setting or variable.
func evaluatesProject(s *word.Scanned) bool {
	found := false
	for _, h := range s.Hits {
		if value, ok := strings.CutPrefix(h.Value.Text, "expression="); ok {
			if !h.Value.Known || !projectFact.MatchString(value) || strings.Contains(value, "uilder") || strings.Contains(value, "uilding") {
				return false
			}
			found = true
		}
	}
	return found
}

// projectFact is one fact of a project, or a version.
var projectFact = lazyregexp.New(`^(?:[$][{])?(?:project\.[A-Za-z0-9_.\[\]-]+|(?:java|maven|os)\.version|[A-Za-z0-9_-]*version)[}]?$`)

// inspectGradle notes that the task properties shows what Gradle was told, credentials among it, unless one property is
// asked for.
func inspectGradle(_ *walk.Walker, c *walk.Call, s *word.Scanned) {
	for i, w := range s.Operands {
		if w.Text != "properties" && !strings.HasSuffix(w.Text, ":properties") {
			continue
		}
		at := slices.IndexFunc(c.Argv, func(w word.Word) bool { return word.HasPrefix(w.Text, "--prop") })
		name := ""
		if at > 0 {
			if _, value, ok := strings.Cut(c.Argv[at].Text, "="); ok {
				name = value
			} else if at+1 < len(c.Argv) {
				name = c.Argv[at+1].Text
			}
		}
		if name == "" || word.SecretName(name) {
			c.EffectAt("shows settings that can hold credentials", s.Operands[i])
		}
	}
}

// publishing are parts of names of environments by which tox and nox publish, by custom; with all of them, they do that too.
var publishing = lazyregexp.New(`(?i)publish|releas|deploy|upload|pypi|push|twine|gh[-_]?pages|(?:^|[^a-z])(?:rel|ships?|bump|tag|all|not)(?:[^a-z]|$)`)

// inspectEnvironments notes environments of tox and sessions of nox that publish, or of which nothing is known.
func inspectEnvironments(a *walk.Walker, c *walk.Call, s *word.Scanned) {
	for _, h := range s.Hits {
		if h.Has && slices.Contains([]string{"-e", "-s", "-t", "-m", "-k", "--tags", "--keywords"}, h.Opt.Last) && publishesIn(h.Value) {
			c.EffectOf("environment "+h.Value.Text, h)
		}
	}
	for _, w := range c.Argv[1:] { // nox takes several names behind one option
		if w.Known && w.Text == "--" {
			break
		}
		if w.Known && !strings.HasPrefix(w.Text, "-") && publishesIn(w) {
			c.EffectAt("environment "+w.Text, w)
		}
	}
	for _, e := range c.Sc.Env {
		if environmentNames[e.Name] && publishesIn(word.Word{Text: e.Value.Value, Known: e.Value.Known}) {
			c.Effect("environment " + e.Value.Value)
		}
	}
	for name := range environmentNames {
		for _, value := range a.Shell.Given[name] {
			if publishesIn(word.Lit(value)) {
				c.Effect("environment " + value)
			}
		}
	}
}

// rubyTests is a file, or a pattern of files, where tests are.
var rubyTests = lazyregexp.New(`^(?:\./)?(?:test|spec)/[\w*/-][\w*./-]*$`)

// inspectRubyTests notes that a variable names what rake and rails load for tests, and that no tests are there.
func inspectRubyTests(a *walk.Walker, c *walk.Call, _ *word.Scanned) {
	elsewhere := func(text string) bool {
		return !rubyTests.MatchString(text) || slices.Contains(strings.Split(text, "/"), "..")
	}
	set := false
	for _, e := range c.Sc.Env {
		if e.Name != "TEST" {
			continue
		}
		set = true
		if !e.Value.Known || elsewhere(e.Value.Value) {
			c.Effect("env TEST")
		}
	}
	if !set && a.Shell.Assigned["TEST"] {
		c.Effect("env TEST")
	}
}

// environmentNames are variables that choose environments.
var environmentNames = word.Set("TOXENV TOX_ENV NOXSESSION")

// publishesIn says that a list of environments may hold one that publishes.
func publishesIn(list word.Word) bool {
	texts := list.Globs
	if list.Known {
		texts = []string{list.Text}
	}
	return len(texts) == 0 || slices.ContainsFunc(texts, func(text string) bool {
		return publishing.MatchString(text)
	})
}

// buildSwitch is a switch of MSBuild that loads code or a property, starts another target, or writes a file. It reads
// them whatever their case.
var buildSwitch = lazyregexp.New(`(?i)^-+(?:t|target|p|property|rp|restoreproperty|l|logger|dl|distributedlogger|bl|binarylogger|` +
	`(?:flp|fileloggerparameters)[0-9]?|orc|outputresultscache|pp|preprocess|ts|targets|getresultoutputfile|prof|` +
	`profileevaluation|projectcache|source|test-adapter-path|environment|settings|configfile)$`)

// buildProperties are variables that MSBuild reads for properties which select or show, and run nothing.
var buildProperties = word.Set("configuration platform targetframework targetframeworks runtimeidentifier version versionprefix versionsuffix " +
	"packageversion assemblyversion fileversion langversion nullable verbosity")

// inspectDotnet notes variables of the call that MSBuild takes for properties: these can run programs, and choose what is
// written. Their names are words without a sign.
func inspectDotnet(a *walk.Walker, c *walk.Call, _ *word.Scanned) {
	for _, w := range c.Argv[1:] {
		if name, _, ok := strings.Cut(w.Text, ":"); ok && strings.HasPrefix(name, "-") && buildSwitch.MatchString(name) {
			c.EffectAt("option "+name, w)
		}
	}
	names := []string{}
	for _, e := range c.Sc.Env {
		names = append(names, e.Name)
	}
	for name := range a.Shell.Exported {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if !strings.Contains(name, "_") && !buildProperties[strings.ToLower(name)] && !a.Words.Tables.EnvHarmless(name) {
			c.Effect("property " + name)
		}
	}
}
