package provenance

import (
	"path/filepath"
	"slices"

	"callgate/gate/internal/facts"
	"callgate/gate/internal/floor"
	"callgate/gate/tools"
	"callgate/internal/flow"
	"callgate/internal/lazyregexp"
	"callgate/permissions"
	"callgate/shellparse/programs"
)

// OriginOf returns what the result of a call will be.
func OriginOf(call *facts.Call, a *tools.Analysis) (o origin) {
	t := call.Tool
	switch {
	case t == nil:
	case t.Kind == tools.KindFetch:
		o.label = flow.Untrusted
	case len(a.Commands) > 0:
		o.ofCommands(a)
		o.ofPaths(call, a)
	case t.Bound && facts.FileKind(t.Kind) || t.Kind == tools.KindGlob || t.Kind == tools.KindGrep:
		o.ofPaths(call, a)
	case t.Kind == tools.KindPrompt, t.Kind == tools.KindSampling, len(t.Labels.Returns) > 0, t.Labels.Effect != "":
		o.ofLabels(t.Labels.Returns)
		o.fields = t.Labels.Fields
	case t.Kind == tools.KindProcessInput, t.Kind == tools.KindShell, t.Kind == tools.KindConnect, tools.OpensSandbox(t.Kind):
	default:
		o.label, o.guess = flow.Private|flow.Untrusted, true
		if t.NamesCredential() {
			o.label |= flow.Secret
		}
	}
	return o
}

// ofLabels adds what a tool with these labels returns.
func (o *origin) ofLabels(returns []string) {
	for _, r := range returns {
		switch r {
		case tools.ReturnsPrivate:
			o.label |= flow.Private
		case tools.ReturnsUntrusted:
			o.label |= flow.Untrusted
		case tools.ReturnsSecret:
			o.label |= flow.Secret | flow.Private
		}
	}
	if o.label == flow.Private {
		o.own = flow.Record
	}
}

func (o *origin) ofCommands(a *tools.Analysis) {
	shows, fetches := slices.IndexFunc(a.Commands, floor.ShowsCredentials), false
	for i, c := range a.Commands {
		if floor.DumpsEnvironment(c) {
			o.label |= flow.Secret | flow.Private
		}
		if c.Risk == permissions.Network || c.Risk == permissions.Unknown && len(c.Argv) > 0 && floor.About(floor.Program(c)).Has(programs.CanSend) {
			fetches = fetches || i != shows
			o.label |= flow.Untrusted
			if len(c.Argv) > 0 && !plainFetch[floor.Program(c)] && !bringsIn(c) {
				o.label |= flow.Private
			}
		}
	}
	if shows >= 0 && !fetches { // else the credentials are for what is fetched
		o.label |= flow.Secret | flow.Private
	}
}

var plainFetch = facts.WordsOf("curl wget wget2 http https xh xhs httpie aria2c dig nslookup host ping")

// bringsIn reports whether a command fetches packages, images or a repository. What it prints is not the user's.
func bringsIn(c tools.CommandView) bool {
	if len(c.Argv) < 2 {
		return false
	}
	about := floor.About(floor.Program(c))
	return about.Has(programs.PackageManager) && installing[c.Argv[1]] || about.Has(programs.RunsContainers) && c.Argv[1] == "pull" ||
		about.Has(programs.VersionControl) && cloning[c.Argv[1]]
}

var (
	installing = facts.WordsOf("install i ci add get download update upgrade sync restore require")
	cloning    = facts.WordsOf("clone fetch pull")
)

// ofPaths adds what files are. Files of the workspace are the user's side, unless others wrote them.
func (o *origin) ofPaths(call *facts.Call, a *tools.Analysis) {
	inside := len(a.Paths) > 0
	for _, p := range a.Paths {
		switch {
		case tools.CredentialStore(p) != "" && !facts.Template(p):
			o.label |= flow.Secret | flow.Private
			inside = false
		case foreign.MatchString(filepath.ToSlash(p)):
			o.label |= flow.Untrusted
			inside = false
		case !call.Place.Holds(p):
			o.label |= flow.Private
			inside = false
		}
	}
	if inside && o.label == 0 {
		o.own = flow.Files
	}
}

// foreign matches folders whose files others wrote.
var foreign = lazyregexp.New(`(?i)/(?:node_modules|bower_components|vendor|third_party|site-packages|dist-packages|\.venv|\.cargo/registry|go/pkg/mod|Downloads|Attachments)(?:/|$)`)
