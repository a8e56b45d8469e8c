package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/adrg/xdg"
	"github.com/go-viper/mapstructure/v2"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/spf13/viper"

	"callgate/gate"
	"callgate/internal/hooks"
	"callgate/internal/tools"
	"callgate/permissions"
	"callgate/proxy"
	"callgate/shellparse"
)

// config is everything that a user can set, read once and checked once.
type config struct {
	DataDir            string
	Worker             string
	Agent              string
	LogLevel           string
	LogFile            string
	AuditAnchor        string
	Listen             string
	ListenRemote       string
	ListenHosts        []string
	Mode               string
	Autonomy           string
	Escalation         string
	Timeout            time.Duration
	HandOver           time.Duration
	ClaimWithin        time.Duration
	MaxPending         int
	Remember           string
	Gate               string
	Terminal           string
	AllowTerminalWrite bool
	Metrics            bool
	Traces             bool
	MCPConfig          []string
	Limits             limitsConfig
	Shell              shellConfig
	Approvers          struct {
		Host bool // what the host's own person answers counts
	}
	Tools       toolsConfig
	Checkpoints checkpointsConfig
	Verify      verifyConfig
	RAG         ragConfig
	Telegram    telegramConfig
	Hosts       []hostConfig
	Servers     []serverConfig
	Hooks       []hooks.Config
	serveConfig `mapstructure:",squash"`

	file       string // the configuration file, "" when there is none
	logLevel   slog.Level
	mode       gate.Mode
	autonomy   gate.Autonomy
	askEscalat bool
	inMemory   bool
	gateOff    bool
	terminal   *gate.Terminal
	limits     gate.Limits
	hostLimits []proxy.HostLimit
	shell      *tools.ShellSetup
	hooks      *hooks.Runner // not started
}

// shellConfig says how shell text is read, and what is known of programs beside the built-in tables.
type shellConfig struct {
	Dialect  string // bash, posix or zsh
	Programs []shellparse.Program
	Wrappers []shellparse.Wrapper
	Env      []shellparse.Env
}

// limitsConfig bounds what one session may do.
type limitsConfig struct {
	Preset       string // "" or strict
	CallsPerTurn int
	TurnIdle     time.Duration
	Concurrent   int
	Timeouts     []timeoutConfig

	MaxResultBytes int // of servers that have no bound of their own
}

type timeoutConfig struct {
	Tool  string // glob over the qualified name or the kind; "" is every tool
	Risk  string // a class; "" is every class
	After time.Duration
}

// serverConfig is one entry of "servers". Names are values, never keys, so that their case counts.
type serverConfig struct {
	Name       string
	Type       string // stdio, sse, http; told from command and url when it is missing
	Command    string
	Args       []string
	Env        []string // NAME=value
	InheritEnv bool
	Cwd        string
	URL        string
	Headers    []string // Name: value
	Era        string   // auto, legacy or modern
	OAuth      oauthConfig
	Trusted    bool
	Enabled    *bool
	Package    string // what the command runs, when the command does not name it
	Tools      []toolConfig
	AllowTools []string // globs over the server's own names
	HideTools  []string

	Timeout        time.Duration // of one request; 0 is none
	MaxResultBytes int           // 0 is none
	Shared         bool          // one for all sessions
	IdleTimeout    time.Duration // after which a server that nobody uses is stopped; 0 is never

	source string // file and entry, for messages
}

// oauthConfig is a client that the authorization server of a server behind a URL knows. Without it callgate
// registers itself.
type oauthConfig struct {
	ClientID     string
	ClientSecret string
	Scopes       []string
	RedirectPort int // of the address of this machine that takes the answer; 0 is any
}

// toolConfig maps a tool to a kind.
type toolConfig struct {
	Name  string
	As    string // what hosts and rules call it; "" is Name
	Kind  string // "" for a tool that is none of the kinds
	Risk  string // class of its calls; what a call holds can only raise it
	Roles []roleConfig
}

type roleConfig struct {
	Argument string
	Role     string
}

// setting is one key of the configuration that is a flag and a variable too.
type setting struct {
	key, flag, help string
	value           any
}

// commonSettings are the keys that every subcommand takes, in the order of the help. The variable of dataDir is
// CALLGATE_DATA_DIR.
var commonSettings = []setting{
	{"dataDir", "data-dir", "`folder` for rules, credentials, the audit trail and caches (default " + filepath.Join(xdg.DataHome, "callgate") + ")", ""},
	{"worker", "worker", "`name` of the worker, whose rules apply", "default"},
	{"logLevel", "log-level", "debug, info, warn or error", "info"},
	{"logFile", "log-file", "`file` for the log, beside standard error", ""},
}

// policySettings are those of subcommands that judge calls.
var policySettings = []setting{
	{"agent", "agent", "`name` of the profile that sessions run under: explore, general, or a file in {dataDir}/agents", ""},
	{"auditAnchor", "audit-anchor", "where heads of the audit trail are kept besides: syslog, or a `file` out of reach; empty for nowhere", ""},
	{"mode", "mode", "what happens to calls that would ask: ask, auto-approve, auto-deny or no-prompt", "ask"},
	{"autonomy", "autonomy", "`level` of every new session: FULL_AUTO, SUPERVISED, CAUTIOUS, MANUAL, always-ask, ask-on-write, ask-on-external, allow-safe-readonly; empty means that rules alone decide", ""},
	{"escalation", "escalation", "calls that gain privileges: reject, or ask a person", "reject"},
	{"timeout", "timeout", "how long an approval waits for a person", 120 * time.Second},
	{"handOver", "hand-over", "how long a call waits before the host hears that its approval is pending; 0s goes by the host's own limit, -1s never", time.Duration(0)},
	{"claimWithin", "claim-within", "how long the decision on a call that was handed over waits for its repetition", 15 * time.Minute},
	{"maxPending", "max-pending", "approvals that may wait at once in one session", 64},
	{"remember", "remember", "where an \"always\" for the worker is kept: storage, or memory until callgate ends", "storage"},
	{"terminal", "terminal", "open, or allowlist: shells run one plain command of a short list, and reading needs no question", "open"},
	{"allowTerminalWrite", "allow-terminal-write", "with terminal allowlist: build tools and interpreters are asked about instead of denied", false},
	{"tools.expose", "expose-tools", "what hosts see: all tools, or search: pinned ones, and tools to find and call the others", "all"},
	{"gate", "gate", "on, or off to let every call run that does not touch callgate itself: for throw-away sandboxes only", "on"},
	{"metrics", "metrics", "count what happens, for Prometheus, at /metrics of the side server", false},
	{"traces", "traces", "tell OpenTelemetry of calls, where OTEL_EXPORTER_OTLP_ENDPOINT says", false},
	{"mcpConfig", "mcp-config", "`file` with mcpServers, as hosts have them; repeatable", []string{}},
}

// allSettings are the keys of all subcommands.
func allSettings() []setting {
	return slices.Concat(commonSettings, policySettings, searchSettings, telegramSettings, serveSettings, listenSettings, checkpointSettings, verifySettings)
}

// settings reads the configuration when a subcommand needs it.
type settings struct {
	common *pflag.FlagSet
	policy *pflag.FlagSet // for subcommands that judge calls
	search *pflag.FlagSet // for subcommands that index and search
	chat   *pflag.FlagSet // for those that answer from a chat
	serve  *pflag.FlagSet // for callgate serve
	keep   *pflag.FlagSet // for subcommands that take or restore checkpoints
	checks *pflag.FlagSet // for subcommands that relay calls
	listen *pflag.FlagSet // for subcommands that let approvers in
	viper  *viper.Viper
}

// newSettings declares the flags: those of every subcommand in common, the others in a set of their own.
func newSettings(common *pflag.FlagSet) *settings {
	s := &settings{common: common, policy: pflag.NewFlagSet("policy", pflag.ContinueOnError), search: pflag.NewFlagSet("search", pflag.ContinueOnError), chat: pflag.NewFlagSet("chat", pflag.ContinueOnError), keep: pflag.NewFlagSet("keep", pflag.ContinueOnError), checks: pflag.NewFlagSet("checks", pflag.ContinueOnError), serve: pflag.NewFlagSet("serve", pflag.ContinueOnError), listen: pflag.NewFlagSet("listen", pflag.ContinueOnError), viper: viper.New()}
	common.String("config", "", "configuration `file` (default "+filepath.Join(xdg.ConfigHome, "callgate", "callgate.yaml")+")")
	for _, o := range commonSettings {
		s.declare(common, o)
	}
	for _, o := range policySettings {
		s.declare(s.policy, o)
	}
	for _, o := range searchSettings {
		s.declare(s.search, o)
	}
	for _, o := range telegramSettings {
		s.declare(s.chat, o)
	}
	for _, o := range serveSettings {
		s.declare(s.serve, o)
	}
	for _, o := range listenSettings {
		s.declare(s.listen, o)
	}
	for _, o := range checkpointSettings {
		s.declare(s.keep, o)
	}
	for _, o := range verifySettings {
		s.declare(s.checks, o)
	}
	return s
}

// listening gives a subcommand the flags of those that let approvers in.
func (s *settings) listening(cmd *cobra.Command) *cobra.Command {
	cmd.PersistentFlags().AddFlagSet(s.listen)
	return cmd
}

// naming gives a subcommand the flag that names files with servers.
func (s *settings) naming(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().AddFlag(s.policy.Lookup("mcp-config"))
	return cmd
}

// judging gives a subcommand the flags of those that judge calls.
func (s *settings) judging(cmd *cobra.Command) *cobra.Command {
	cmd.PersistentFlags().AddFlagSet(s.policy)
	return s.listening(cmd)
}

// searching gives a subcommand the flags of those that index and search.
func (s *settings) searching(cmd *cobra.Command) *cobra.Command {
	cmd.PersistentFlags().AddFlagSet(s.search)
	return cmd
}

// relaying gives a subcommand the flags of those that relay calls.
func (s *settings) relaying(cmd *cobra.Command) *cobra.Command {
	cmd.PersistentFlags().AddFlagSet(s.checks)
	return s.keeping(s.searching(s.judging(cmd)))
}

// keeping gives a subcommand the flags of those that take or restore checkpoints.
func (s *settings) keeping(cmd *cobra.Command) *cobra.Command {
	cmd.PersistentFlags().AddFlagSet(s.keep)
	return cmd
}

func (s *settings) declare(flags *pflag.FlagSet, o setting) {
	switch v := o.value.(type) {
	case string:
		flags.String(o.flag, v, o.help)
	case int:
		flags.Int(o.flag, v, o.help)
	case time.Duration:
		flags.Duration(o.flag, v, o.help)
	case bool:
		flags.Bool(o.flag, v, o.help)
	case []string:
		flags.StringArray(o.flag, v, o.help)
	}
	s.viper.SetDefault(o.key, o.value)
	// The names are constants: neither call can fail.
	_ = s.viper.BindPFlag(o.key, flags.Lookup(o.flag))
	_ = s.viper.BindEnv(o.key, variable(o.flag))
}

func variable(flag string) string {
	return "CALLGATE_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// load reads flags, variables, the file and the defaults, in this order of precedence.
func (s *settings) load() (*config, error) {
	c := &config{}
	if err := s.readFile(c); err != nil {
		return nil, err
	}
	// A list may hold commas: a variable is one path unless it has the system's list separator.
	if paths := os.Getenv(variable("mcp-config")); paths != "" && !s.policy.Changed("mcp-config") {
		s.viper.Set("mcpConfig", filepath.SplitList(paths))
	}
	if err := s.readIdleSeconds(); err != nil {
		return nil, err
	}
	if paths := os.Getenv(variable("root")); paths != "" && !s.search.Changed("root") {
		s.viper.Set("rag.roots", filepath.SplitList(paths))
	}
	if _, ok := s.viper.Get("servers").(map[string]any); ok { // the decoder would take it for a list of one
		return nil, fmt.Errorf("configuration %s: servers: write a list, with a \"- name: …\" for each server; a file with mcpServers goes to --mcp-config", c.file)
	}
	for _, key := range []string{"hooks", "hosts", "mcpTokens"} { // likewise
		if _, ok := s.viper.Get(key).(map[string]any); ok {
			return nil, fmt.Errorf("configuration %s: %s: write a list, with a \"- name: …\" for each", c.file, key)
		}
	}
	decode := viper.DecodeHook(mapstructure.ComposeDecodeHookFunc(mapstructure.StringToTimeDurationHookFunc(), unitless))
	if err := s.viper.UnmarshalExact(c, decode); err != nil {
		return nil, explainUnmarshal(c.file, err)
	}
	return c, c.validate()
}

// unitless refuses a duration that is a bare number: it would be one of nanoseconds.
func unitless(_, to reflect.Type, value any) (any, error) {
	if n, ok := value.(int); ok && n != 0 && to == reflect.TypeFor[time.Duration]() {
		return nil, errors.New("time: missing unit")
	}
	return value, nil
}

// readFile finds the configuration file and reads it. One that was named must exist; a repository's own
// folder is never looked into, because whoever wrote the repository would configure the gate.
func (s *settings) readFile(c *config) error {
	path, _ := s.common.GetString("config")
	named := path != ""
	if !named {
		path = os.Getenv("CALLGATE_CONFIG")
		named = path != ""
	}
	if !named {
		path = filepath.Join(xdg.ConfigHome, "callgate", "callgate.yaml")
	}
	s.viper.SetConfigFile(path)
	if filepath.Ext(path) == "" {
		s.viper.SetConfigType("yaml")
	}
	if err := s.viper.ReadInConfig(); err != nil {
		if !named && errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return fmt.Errorf("configuration %s: %w", path, err)
	}
	c.file = path
	return nil
}

var workerName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// validate checks every value once and fills in what depends on the machine.
func (c *config) validate() (err error) {
	bad := func(key string, err error) error { return fmt.Errorf("configuration: %s: %w", key, err) }
	if c.DataDir == "" {
		c.DataDir = filepath.Join(xdg.DataHome, "callgate")
	}
	if c.DataDir, err = filepath.Abs(expandHome(c.DataDir)); err != nil {
		return bad("dataDir", err)
	}
	if c.LogFile != "" {
		if c.LogFile, err = filepath.Abs(expandHome(c.LogFile)); err != nil {
			return bad("logFile", err)
		}
	}
	if !workerName.MatchString(c.Worker) {
		return bad("worker", fmt.Errorf("%q is not a name: use letters, digits, dots, - and _, at most 64", c.Worker))
	}
	if err := c.logLevel.UnmarshalText([]byte(c.LogLevel)); err != nil {
		return bad("logLevel", fmt.Errorf("%q: use debug, info, warn or error", c.LogLevel))
	}
	if c.mode, err = gate.ParseMode(c.Mode); err != nil {
		return bad("mode", err)
	}
	if c.autonomy, err = gate.ParseAutonomy(c.Autonomy); err != nil {
		return bad("autonomy", err)
	}
	switch c.Escalation {
	case "reject":
	case "ask":
		c.askEscalat = true
	default:
		return bad("escalation", fmt.Errorf("%q: use reject or ask", c.Escalation))
	}
	switch c.Remember {
	case "storage":
	case "memory":
		c.inMemory = true
	default:
		return bad("remember", fmt.Errorf("%q: use storage or memory", c.Remember))
	}
	switch c.Gate {
	case "on", "true": // YAML reads a bare on and off as true and false
	case "off", "false", "0":
		c.gateOff = true
	default:
		return bad("gate", fmt.Errorf("%q: use on or off", c.Gate))
	}
	switch c.Terminal {
	case "open":
	case "allowlist":
		c.terminal = &gate.Terminal{Write: c.AllowTerminalWrite}
	default:
		return bad("terminal", fmt.Errorf("%q: use open or allowlist", c.Terminal))
	}
	if c.shell, err = c.Shell.assemble(); err != nil {
		return bad("shell", err)
	}
	if c.limits, err = c.Limits.assemble(); err != nil {
		return bad("limits", err)
	}
	if c.Timeout <= 0 {
		return bad("timeout", fmt.Errorf("%s: use a positive duration such as 120s", c.Timeout))
	}
	if c.hostLimits, err = assembleHosts(c.Hosts); err != nil {
		return bad("hosts", err)
	}
	if err := c.Telegram.validate(); err != nil {
		return bad("telegram", err)
	}
	if c.ClaimWithin <= 0 {
		return bad("claimWithin", fmt.Errorf("%s: use a positive duration such as 15m", c.ClaimWithin))
	}
	if c.MaxPending <= 0 {
		return bad("maxPending", fmt.Errorf("%d: use a positive number", c.MaxPending))
	}
	if err := c.Checkpoints.check(); err != nil {
		return bad("checkpoints", err)
	}
	if err := c.Verify.check(&c.Checkpoints); err != nil {
		return bad("verify", err)
	}
	if err := c.RAG.check(); err != nil {
		return bad("rag", err)
	}
	if err := c.Tools.check(); err != nil {
		return bad("tools", err)
	}
	if c.hooks, err = hooks.New(hooks.Options{
		Hooks: c.Hooks, Worker: c.Worker, Dir: filepath.Dir(c.file), StateFile: filepath.Join(c.DataDir, "workers", c.Worker, "hooks.json"), QueueDir: filepath.Join(c.DataDir, "workers", c.Worker, "webhooks"), Home: xdg.Home,
	}); err != nil {
		return fmt.Errorf("configuration %s: %w", c.file, err)
	}
	if err := c.validateRemote(); err != nil {
		return fmt.Errorf("configuration: %w", err)
	}
	if err := c.serveConfig.validate(); err != nil {
		return fmt.Errorf("configuration: %w", err)
	}
	for i := range c.Servers {
		c.Servers[i].source = fmt.Sprintf("%s: servers[%d]", c.file, i)
	}
	return nil
}

// strict is the preset for agents that run by themselves.
var strict = limitsConfig{
	CallsPerTurn: 8, TurnIdle: 30 * time.Second,
	Timeouts: []timeoutConfig{{After: 15 * time.Second}, {Risk: "NETWORK", After: 30 * time.Second}, {Risk: "BUILD_TEST", After: 120 * time.Second}},
}

// assemble checks the limits. What is written beside a preset counts before what the preset says.
func (l limitsConfig) assemble() (gate.Limits, error) {
	switch l.Preset {
	case "":
	case "strict":
		l.CallsPerTurn, l.TurnIdle = cmp.Or(l.CallsPerTurn, strict.CallsPerTurn), cmp.Or(l.TurnIdle, strict.TurnIdle)
		l.Timeouts = slices.Concat(strict.Timeouts, l.Timeouts)
	default:
		return gate.Limits{}, fmt.Errorf("preset %q: use strict, or write the limits out", l.Preset)
	}
	if l.CallsPerTurn < 0 || l.Concurrent < 0 || l.TurnIdle < 0 || l.MaxResultBytes < 0 {
		return gate.Limits{}, errors.New("a limit is negative: leave it out, or use 0, for none")
	}
	out := gate.Limits{CallsPerTurn: l.CallsPerTurn, TurnIdle: cmp.Or(l.TurnIdle, 30*time.Second), Concurrent: l.Concurrent}
	for i, t := range l.Timeouts {
		one := gate.Timeout{After: t.After}
		if t.After <= 0 {
			return out, fmt.Errorf("timeouts[%d]: after %s: use a positive duration such as 30s", i, t.After)
		}
		if t.Tool != "" {
			glob, err := permissions.CompileGlob(t.Tool)
			if err != nil {
				return out, fmt.Errorf("timeouts[%d]: tool: %w", i, err)
			}
			one.Tool = glob
		}
		if t.Risk != "" {
			risk, err := permissions.ParseRisk(t.Risk)
			if err != nil {
				return out, fmt.Errorf("timeouts[%d]: %w", i, err)
			}
			one.Risk = &risk
		}
		out.Timeouts = append(out.Timeouts, one)
	}
	return out, nil
}

// assemble checks the rows. Nil means bash and nothing added.
func (s shellConfig) assemble() (*tools.ShellSetup, error) {
	dialects := map[string]shellparse.Dialect{"": shellparse.Bash, "bash": shellparse.Bash, "posix": shellparse.POSIX, "zsh": shellparse.Zsh}
	dialect, ok := dialects[s.Dialect]
	if !ok {
		return nil, fmt.Errorf("dialect %q: use bash, posix or zsh", s.Dialect)
	}
	setup := &tools.ShellSetup{Dialect: dialect}
	if len(s.Programs)+len(s.Wrappers)+len(s.Env) > 0 {
		tables, err := shellparse.NewTables(s.Programs, s.Wrappers, s.Env)
		if err != nil {
			return nil, err
		}
		setup.Tables = tables
	}
	return setup, nil
}

// dataDir is the data directory alone, for subcommands that need nothing else.
func (s *settings) dataDir() (string, error) {
	c, err := s.load()
	if err != nil {
		return "", err
	}
	return c.DataDir, nil
}

// permissionsFile is where the worker's rules are.
func (c *config) permissionsFile() string {
	return filepath.Join(c.DataDir, "workers", c.Worker, "permissions.jsonc")
}

// expandHome replaces a leading ~.
func expandHome(path string) string {
	if rest, ok := strings.CutPrefix(path, "~"); ok && (rest == "" || os.IsPathSeparator(rest[0])) {
		return filepath.Join(xdg.Home, rest)
	}
	return path
}

// cacheDir is where upstreams are remembered between runs.
func (c *config) cacheDir() string { return filepath.Join(c.DataDir, "cache") }

// ports are those of the side server as far as the configuration names them.
func (c *config) ports() []string {
	if _, port, err := net.SplitHostPort(c.Listen); err == nil && port != "0" {
		return []string{port}
	}
	return nil
}
