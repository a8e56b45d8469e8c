package inspect

import (
	"slices"
	"strings"

	"callgate/internal/lazyregexp"
	"callgate/shellparse/internal/walk"
	"callgate/shellparse/internal/word"
)

// goals lists parts of the names of Maven goals that start programs, publish, fetch what their properties name, or show
// all settings and variables.
var goals = strings.Fields("antrun :get :copy :unpack help:effective-settings help:system :purge-local-repository")

// inspectMaven records goals that do more than build.
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

// fillsFolder reports whether goals copy into a folder other than those that builds fill.
func fillsFolder(a *walk.Walker, c *walk.Call, s *word.Scanned) bool {
	return slices.ContainsFunc(s.Hits, func(h word.Hit) bool {
		folder, ok := strings.CutPrefix(h.Value.Text, "outputDirectory=")
		return ok && !(h.Value.Known && generated(a, c, folder)) || !h.Value.Known && strings.HasPrefix(h.Value.Head, "outputDirectory")
	})
}

// evaluatesProject reports whether the expression of help:evaluate is a fact of the project, not a setting or variable.
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

// projectFact matches one fact of a project, or a version.
var projectFact = lazyregexp.New(`^(?:[$][{])?(?:project\.[A-Za-z0-9_.\[\]-]+|(?:java|maven|os)\.version|[A-Za-z0-9_-]*version)[}]?$`)

// inspectGradle records that the task properties shows settings, with credentials, unless it asks for one harmless
// property.
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

// publishing matches names of environments that publish by convention in tox and nox, or that select all environments.
var publishing = lazyregexp.New(`(?i)publish|releas|deploy|upload|pypi|push|twine|gh[-_]?pages|(?:^|[^a-z])(?:rel|ships?|bump|tag|all|not)(?:[^a-z]|$)`)

// inspectEnvironments records environments of tox and sessions of nox that publish, or that are unknown.
func inspectEnvironments(a *walk.Walker, c *walk.Call, s *word.Scanned) {
	for _, h := range s.Hits {
		if h.Has && slices.Contains([]string{"-e", "-s", "-t", "-m", "-k", "--tags", "--keywords"}, h.Opt.Last) && publishesIn(h.Value) {
			c.EffectOf("environment "+h.Value.Text, h)
		}
	}
	for _, w := range c.Argv[1:] { // nox takes several names after one option
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

// rubyTests matches a file, or a pattern of files, in the folders of tests.
var rubyTests = lazyregexp.New(`^(?:\./)?(?:test|spec)/[\w*/-][\w*./-]*$`)

// inspectRubyTests records that a variable makes rake or rails load files outside the folders of tests.
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

// environmentNames lists the variables that choose environments.
var environmentNames = word.Set("TOXENV TOX_ENV NOXSESSION")

// publishesIn reports whether a list of environments may contain one that publishes.
func publishesIn(list word.Word) bool {
	texts := list.Globs
	if list.Known {
		texts = []string{list.Text}
	}
	return len(texts) == 0 || slices.ContainsFunc(texts, func(text string) bool {
		return publishing.MatchString(text)
	})
}

// buildSwitch matches a switch of MSBuild that loads code or a property, starts another target, or writes a file.
// MSBuild ignores the case of switches.
var buildSwitch = lazyregexp.New(`(?i)^-+(?:t|target|p|property|rp|restoreproperty|l|logger|dl|distributedlogger|bl|binarylogger|` +
	`(?:flp|fileloggerparameters)[0-9]?|orc|outputresultscache|pp|preprocess|ts|targets|getresultoutputfile|prof|` +
	`profileevaluation|projectcache|source|test-adapter-path|environment|settings|configfile)$`)

// buildProperties lists variables that MSBuild reads as properties which only select or show something.
var buildProperties = word.Set("configuration platform targetframework targetframeworks runtimeidentifier version versionprefix versionsuffix " +
	"packageversion assemblyversion fileversion langversion nullable verbosity")

// inspectDotnet records environment variables that MSBuild reads as properties, which can run programs and choose what
// is written. Names of properties contain no underscore.
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
