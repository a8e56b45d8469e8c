package hooks

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"callgate/internal/guard"
	"callgate/internal/lazyregexp"
	"callgate/permissions"
)

// Config is one hook as the configuration describes it.
type Config struct {
	Name      string
	Event     []string      // one or more of Events
	Matcher   string        // glob over the tool (either name), its kind, the agent or the server; "" matches everything
	When      string        // "", or before: the hook decides, see Decide
	OnFailure string        // for a hook that decides: ask (the default) or deny
	Action    Action        //
	Enabled   *bool         // nil means true; what people switched at run time wins
	Timeout   time.Duration // 0 means 30 s, for a webhook 5 s
	Secrets   bool          // the hook gets the event unchanged, with text that looks like a secret
}

// Action is what a hook does.
type Action struct {
	Type    string   // command, log or webhook; if "", the other fields tell
	Command any      // a list of words; or one text that is split at blanks, without quoting
	Env     []string // NAME=value, added to the program's environment
	Cwd     string   // "" means callgate's own
	Message string   // for a log line

	URL          string // for a webhook: https
	SecretFile   string // the file that holds the signing secret
	SecretEnv    string // or the variable that holds it
	CAFile       string // certificate authorities that may vouch for the receiver, instead of the system's
	AllowPrivate bool   // the receiver may be in a private network, or on this machine
}

// Options configures a Runner.
type Options struct {
	Hooks     []Config
	Worker    string
	StateFile string      // stores what people switch, for all processes of the worker
	QueueDir  string      // where webhooks keep events that wait, in one folder for each
	Dir       string      // the base of relative paths: the configuration's folder
	Home      string      // what ~ means in paths
	Wall      *guard.Wall // the wall around programs; nil means none
}

// path resolves a path of the configuration; "" stays "".
func (o Options) path(path string) string {
	if rest, ok := strings.CutPrefix(path, "~"); ok && rest != "" && os.IsPathSeparator(rest[0]) {
		return filepath.Join(o.Home, rest)
	}
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(o.Dir, path)
}

var hookName = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// check turns a hook's configuration into a hook that can run.
func (c Config) check(o Options) (*hook, error) {
	if !hookName.MatchString(c.Name) {
		return nil, errors.New("a hook needs a name of letters, digits, dots, - and _, at most 64")
	}
	h := &hook{
		name: c.Name, events: c.Event, pattern: cmp.Or(c.Matcher, "*"),
		onFailure: cmp.Or(c.OnFailure, "ask"), enabled: c.Enabled == nil || *c.Enabled, secrets: c.Secrets,
	}
	if len(c.Event) == 0 {
		return nil, fmt.Errorf("event is missing: use %s", strings.Join(Events, ", "))
	}
	for _, event := range c.Event {
		if !slices.Contains(Events, event) {
			return nil, fmt.Errorf("event %q: use %s", event, strings.Join(Events, ", "))
		}
	}
	var err error
	if h.pattern != "*" {
		if h.matcher, err = permissions.CompileGlob(h.pattern); err != nil {
			return nil, fmt.Errorf("matcher: %w", err)
		}
	}
	if h.before, err = c.decides(); err != nil {
		return nil, err
	}
	if c.Timeout < 0 || c.Timeout > maxTimeout {
		return nil, fmt.Errorf("timeout %s: use a positive duration up to %s", c.Timeout, maxTimeout)
	}
	if h.action, h.timeout, err = c.Action.check(c, o); err != nil {
		return nil, fmt.Errorf("action: %w", err)
	}
	if _, ok := h.action.(*command); h.before && !ok {
		return nil, errors.New("when: before needs an action of type command, whose answer counts")
	}
	return h, nil
}

// check returns the action and how long it may take.
func (a Action) check(c Config, o Options) (action, time.Duration, error) {
	kind := a.Type
	if kind == "" && a.Command != nil {
		kind = "command"
	}
	if kind == "" && a.Message != "" {
		kind = "log"
	}
	if kind == "" && a.URL != "" {
		kind = "webhook"
	}
	timeout := cmp.Or(c.Timeout, defaultTimeout)
	switch kind {
	case "webhook":
		w, err := newWebhook(a, c, o)
		return w, cmp.Or(c.Timeout, webhookTimeout), err
	case "command":
		command, err := newCommand(a, o)
		return command, timeout, err
	case "log":
		message, err := parseTemplate(a.Message)
		return logLine{message}, timeout, err
	default:
		return nil, 0, fmt.Errorf("type %q: use command, log or webhook", a.Type)
	}
}
