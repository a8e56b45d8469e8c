// Package config reads what a user set: flags, variables, the configuration file, and files with MCP servers. It checks
// each value once, when it reads it. An error names the key and the cure.
package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/adrg/xdg"
	"github.com/go-viper/mapstructure/v2"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/spf13/viper"
	"go.yaml.in/yaml/v3"

	"callgate/gate"
	"callgate/gate/tools"
	"callgate/internal/hooks"
	"callgate/internal/lazyregexp"
	"callgate/internal/presence"
	"callgate/internal/siem"
	"callgate/internal/tenants"
	"callgate/proxy"
)

// Config holds everything that a user can set. It is read and checked once.
type Config struct {
	noServers bool     // the file says that there are no servers
	speaks    []string // callgate's variables that are named in what was read

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
	Guard              string
	Terminal           string
	AllowTerminalWrite bool
	Metrics            bool
	Traces             bool
	Flow               string
	Secrets            struct {
		Keyring []string // entries of the system's keyring that must not leave, as SERVICE/ACCOUNT
		Files   []string // files of variables, such as .env, whose secrets must not leave
	}
	MCPConfig []string
	Limits    limitsConfig
	Shell     shellConfig
	Approvers struct {
		Host     bool   // the answers of the host's own user count
		Presence string // which answers need a passkey
		OIDC     oidcConfig
	}
	Tools       toolsConfig
	Checkpoints checkpointsConfig
	Verify      verifyConfig
	RAG         ragConfig
	Channels    channelsConfig
	Hosts       []hostConfig
	Servers     []ServerConfig
	Hooks       []hooks.Config
	Cluster     clusterConfig
	Export      []siem.Config // where the audit trail is sent
	Tenants     tenants.Config
	ServeConfig `mapstructure:",squash"`

	// Made from the values when they are read.
	File            string         `mapstructure:"-"` // the configuration file, or "" if there is none
	Level           slog.Level     `mapstructure:"-"`
	GateMode        gate.Mode      `mapstructure:"-"`
	AutonomyLevel   gate.Autonomy  `mapstructure:"-"`
	AsksEscalations bool           `mapstructure:"-"`
	GateOff         bool           `mapstructure:"-"`
	NoFlow          bool           `mapstructure:"-"`
	TerminalList    *gate.Terminal `mapstructure:"-"`
	Presence        presence.Class `mapstructure:"-"`
	Policy          policyConfig
	PolicyEngines   []gate.Advisor    `mapstructure:"-"`
	ShellSetup      *tools.ShellSetup `mapstructure:"-"`
	HookRunner      *hooks.Runner     `mapstructure:"-"` // not started
	Try             bool              `mapstructure:"-"` // offer the tool with which doctor tests a host's route
	InMemory        bool              `mapstructure:"-"`
	MaxPendingAll   int               `mapstructure:"-"` // bound on the approvals of all sessions; 0 means none
	GateLimits      gate.Limits       `mapstructure:"-"`
	HostLimits      []proxy.HostLimit `mapstructure:"-"`

	base    string  `mapstructure:"-"` // if DataDir is a tenant's: the data directory of the callgate that serves it; otherwise ""
	started *Config `mapstructure:"-"` // if this was taken over: the configuration that callgate was started with; otherwise nil
}

// setting is a key of the configuration that also has a flag and a variable.
type setting struct {
	key, flag, help string
	value           any
}

// commonSettings are the settings of every subcommand, in the order of the help. The variable of dataDir is
// CALLGATE_DATA_DIR.
var commonSettings = []setting{
	{"dataDir", "data-dir", "`folder` for rules, credentials, the audit trail and caches (default " + DefaultDataDir() + ")", ""},
	{"worker", "worker", "`name` of the worker whose rules apply", "default"},
	{"logLevel", "log-level", "debug, info, warn or error", "info"},
	{"logFile", "log-file", "`file` for the log, in addition to standard error", ""},
}

// allSettings returns the settings of all subcommands.
func allSettings() []setting {
	return slices.Concat(commonSettings, policySettings, searchSettings, serveSettings, clusterSettings, listenSettings, checkpointSettings, verifySettings)
}

// Settings reads the configuration when a subcommand needs it.
type Settings struct {
	Common *pflag.FlagSet
	Policy *pflag.FlagSet // for subcommands that judge calls
	Search *pflag.FlagSet // for subcommands that index and search
	Serve  *pflag.FlagSet // for callgate serve
	Keep   *pflag.FlagSet // for subcommands that take or restore checkpoints
	Checks *pflag.FlagSet // for subcommands that relay calls
	Listen *pflag.FlagSet // for subcommands that let approvers in
	Shared *pflag.FlagSet // for callgate serve and the commands about a cluster
	viper  *viper.Viper
	groups []group
}

// group is some settings, with the set of their flags.
type group struct {
	flags *pflag.FlagSet
	of    []setting
}

// NewSettings declares the flags: those of every subcommand in common, and the others in separate sets.
func NewSettings(common *pflag.FlagSet) *Settings {
	s := &Settings{Common: common, viper: viper.New()}
	common.String("config", "", "configuration `file` (default "+DefaultFile()+")")
	s.declare(common, commonSettings)
	s.Policy = s.flags("policy", policySettings)
	s.Search = s.flags("search", searchSettings)
	s.Serve = s.flags("serve", serveSettings)
	s.Shared = s.flags("cluster", clusterSettings)
	s.Listen = s.flags("listen", listenSettings)
	s.Keep = s.flags("keep", checkpointSettings)
	s.Checks = s.flags("checks", verifySettings)
	return s
}

// flags declares the flags of some settings in a new set.
func (s *Settings) flags(name string, of []setting) *pflag.FlagSet {
	set := pflag.NewFlagSet(name, pflag.ContinueOnError)
	s.declare(set, of)
	return set
}

// Listening adds the flags for letting approvers in.
func (s *Settings) Listening(cmd *cobra.Command) *cobra.Command {
	cmd.PersistentFlags().AddFlagSet(s.Listen)
	return cmd
}

// Naming adds the flag that names files with servers.
func (s *Settings) Naming(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().AddFlag(s.Policy.Lookup("mcp-config"))
	return cmd
}

// Judging adds the flags for judging calls.
func (s *Settings) Judging(cmd *cobra.Command) *cobra.Command {
	cmd.PersistentFlags().AddFlagSet(s.Policy)
	return s.Listening(cmd)
}

// Searching adds the flags for indexing and searching.
func (s *Settings) Searching(cmd *cobra.Command) *cobra.Command {
	cmd.PersistentFlags().AddFlagSet(s.Search)
	return cmd
}

// Relaying adds the flags for relaying calls.
func (s *Settings) Relaying(cmd *cobra.Command) *cobra.Command {
	cmd.PersistentFlags().AddFlagSet(s.Checks)
	return s.Keeping(s.Searching(s.Judging(cmd)))
}

// Keeping adds the flags for taking and restoring checkpoints.
func (s *Settings) Keeping(cmd *cobra.Command) *cobra.Command {
	cmd.PersistentFlags().AddFlagSet(s.Keep)
	return cmd
}

func (s *Settings) declare(flags *pflag.FlagSet, of []setting) {
	for _, o := range of {
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
	}
	s.groups = append(s.groups, group{flags, of})
	s.bind(s.groups[len(s.groups)-1])
}

// bind gives the keys their defaults, flags and variables.
func (s *Settings) bind(g group) {
	for _, o := range g.of {
		s.viper.SetDefault(o.key, o.value)
		// The names are constants, so neither call can fail.
		_ = s.viper.BindPFlag(o.key, g.flags.Lookup(o.flag))
		_ = s.viper.BindEnv(o.key, Variable(o.flag))
	}
}

// Reload does what Load does, for a program that has loaded before. It reads everything again.
func (s *Settings) Reload() (*Config, error) {
	fresh := *s
	fresh.viper = viper.New()
	for _, g := range s.groups {
		fresh.bind(g)
	}
	return fresh.Load()
}

// Variable returns the name of the environment variable for a flag.
func Variable(flag string) string {
	return "CALLGATE_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// Load reads flags, variables, the file and the defaults, in this order of precedence.
func (s *Settings) Load() (*Config, error) {
	c := &Config{}
	if err := s.readFile(c); err != nil {
		return nil, err
	}
	// A list may hold commas. So a variable is one path, unless it has the system's list separator.
	if paths := os.Getenv(Variable("mcp-config")); paths != "" && !s.Policy.Changed("mcp-config") {
		s.viper.Set("mcpConfig", filepath.SplitList(paths))
	}
	if err := s.readIdleSeconds(); err != nil {
		return nil, err
	}
	if paths := os.Getenv(Variable("root")); paths != "" && !s.Search.Changed("root") {
		s.viper.Set("rag.roots", filepath.SplitList(paths))
	}
	if _, ok := s.viper.Get("servers").(map[string]any); ok { // the decoder would make a list of one entry
		return nil, fmt.Errorf("configuration %s: servers: write a list, with a \"- name: …\" for each server; a file with mcpServers goes to --mcp-config", c.File)
	}
	for _, key := range []string{"hooks", "hosts", "mcpTokens", "export"} { // likewise
		if _, ok := s.viper.Get(key).(map[string]any); ok {
			return nil, fmt.Errorf("configuration %s: %s: write a list, with a \"- name: …\" for each", c.File, key)
		}
	}
	if err := explainTelegram(c.File, s.viper.Get("telegram")); err != nil {
		return nil, err
	}
	if err := explainConfirmation(c.File, s.viper.Get("toolConfirmation")); err != nil {
		return nil, err
	}
	s.readMilliseconds()
	decode := viper.DecodeHook(mapstructure.ComposeDecodeHookFunc(ofItsType, mapstructure.StringToTimeDurationHookFunc()))
	if err := s.viper.UnmarshalExact(c, decode); err != nil {
		return nil, explainUnmarshal(c.File, err)
	}
	if err := c.validate(); err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	c.speaks = ourVariable.FindAllString(fmt.Sprint(s.viper.AllSettings()), -1)
	c.noServers = s.viper.InConfig("servers") && len(c.Servers)+len(c.MCPConfig) == 0
	return c, nil
}

// readFile finds and reads the configuration file. A named file must exist. It never looks in a repository's folder,
// because then the repository's author could configure the gate.
func (s *Settings) readFile(c *Config) error {
	path, _ := s.Common.GetString("config")
	named := path != ""
	if !named {
		path = os.Getenv("CALLGATE_CONFIG")
		named = path != ""
	}
	if !named {
		path = DefaultFile()
	}
	s.viper.SetConfigFile(path)
	if filepath.Ext(path) == "" {
		s.viper.SetConfigType("yaml")
	}
	if err := s.viper.ReadInConfig(); err != nil {
		if !named && errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return fmt.Errorf("configuration %s: %w", path, explainYAML(err))
	}
	c.File = path
	return oneDocument(path)
}

// oneDocument returns an error if a YAML file has a second document, because nothing would read its keys.
func oneDocument(path string) error {
	if ext := filepath.Ext(path); ext != "" && ext != ".yaml" && ext != ".yml" {
		return nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("configuration: %w", err)
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var first, second yaml.Node
	if decoder.Decode(&first) != nil || errors.Is(decoder.Decode(&second), io.EOF) {
		return nil
	}
	where := ""
	if second.Line > 0 { // 0 if the second one is not YAML
		where = fmt.Sprintf("line %d: ", second.Line)
	}
	return fmt.Errorf("configuration %s: %sa second document begins after ---, and its keys would not count: put all keys into the first one", path, where)
}

// plainName matches the allowed names of workers, replicas and clients.
var plainName = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// invalid puts the key in front of an error.
func invalid(key string, err error) error { return fmt.Errorf("%s: %w", key, err) }

// place makes the paths of callgate's files absolute.
func (c *Config) place() (err error) {
	if c.DataDir == "" {
		c.DataDir = DefaultDataDir()
	}
	if c.DataDir, err = filepath.Abs(ExpandHome(c.DataDir)); err != nil {
		return invalid("dataDir", err)
	}
	if err := placeTenant(c); err != nil {
		return err
	}
	if c.LogFile != "" {
		if c.LogFile, err = filepath.Abs(ExpandHome(c.LogFile)); err != nil {
			return invalid("logFile", err)
		}
	}
	return nil
}

// placeTenant gives a worker that is a tenant a separate data directory, in which it shares nothing with the others.
func placeTenant(c *Config) error {
	if err := c.Tenants.Check(); err != nil {
		return invalid("tenants", err)
	}
	if !c.Tenants.On() || c.Worker == DefaultWorker {
		return nil
	}
	if err := tenants.CheckName(c.Worker); err != nil {
		return invalid("worker", err)
	}
	c.base, c.DataDir = c.DataDir, tenants.Dir(c.DataDir, c.Worker)
	if c.Listen != "off" {
		c.Listen, c.ListenRemote, c.ListenHosts = "127.0.0.1:0", "", nil // other machines connect to the front
	}
	c.Approvers.OIDC = oidcConfig{}
	own := c.Tenants.Of(c.Worker)
	c.MaxSessions, c.MaxPendingAll = min(c.MaxSessions, own.Limits.Sessions), own.Limits.Pending
	return nil
}

// ForTenant returns this configuration as it applies to one of its tenants.
func (c *Config) ForTenant(name string) (*Config, error) {
	own := *c
	own.Worker = name
	own.Servers, own.Export, own.Hooks = slices.Clone(c.Servers), slices.Clone(c.Export), slices.Clone(c.Hooks)
	own.Channels = slices.Clone(c.Channels)
	if err := own.validate(); err != nil {
		return nil, fmt.Errorf("tenant %s: %w", name, err)
	}
	return &own, nil
}

// validate checks every value once, and fills in what depends on the machine.
func (c *Config) validate() (err error) {
	for _, word := range []*string{ // values that are one of a few words, in any case
		&c.LogLevel, &c.Escalation, &c.Remember, &c.Gate, &c.Terminal, &c.Tools.Expose, &c.Checkpoints.Storage, &c.Checkpoints.OnFailure,
		&c.Verify.OnFailure, &c.RAG.KB, &c.RAG.Embedder.Kind, &c.Auth, &c.Approvers.Presence, &c.Shell.Dialect, &c.Limits.Preset,
	} {
		*word = strings.ToLower(*word)
	}
	if err := c.place(); err != nil {
		return err
	}
	if !plainName.MatchString(c.Worker) {
		return invalid("worker", fmt.Errorf("%q is not a name: use letters, digits, dots, - and _, at most 64", c.Worker))
	}
	if err := c.Level.UnmarshalText([]byte(c.LogLevel)); err != nil {
		return invalid("logLevel", fmt.Errorf("%q: use debug, info, warn or error", c.LogLevel))
	}
	if err := c.validateGate(); err != nil {
		return err
	}
	if err := c.Channels.validate(); err != nil {
		return invalid("channels", err)
	}
	if c.HostLimits, err = assembleHosts(c.Hosts); err != nil {
		return invalid("hosts", err)
	}
	if err := c.Checkpoints.check(); err != nil {
		return invalid("checkpoints", err)
	}
	if err := c.Verify.check(&c.Checkpoints); err != nil {
		return invalid("verify", err)
	}
	if err := c.RAG.check(); err != nil {
		return invalid("rag", err)
	}
	if err := c.Tools.check(); err != nil {
		return invalid("tools", err)
	}
	c.HookRunner, err = hooks.New(hooks.Options{
		Hooks: c.Hooks, Worker: c.Worker, Dir: filepath.Dir(c.File), Home: xdg.Home,
		StateFile: filepath.Join(c.DataDir, "workers", c.Worker, "hooks.json"), QueueDir: c.Files().WebhookQueues(), Wall: c.CommonWall(),
	})
	if err != nil {
		return invalid(c.File, err)
	}
	if err := c.validateListen(); err != nil {
		return err
	}
	if err := c.ServeConfig.validate(); err != nil {
		return err
	}
	if i := slices.IndexFunc(c.MCPTokens, func(t tokenConfig) bool { return t.Tenant != "" }); i >= 0 && !c.Tenants.On() {
		return fmt.Errorf("mcpTokens[%d]: tenant: there are no tenants here: list them in tenants.names, or leave it out", i)
	}
	if err := c.Cluster.validate(); err != nil {
		return err
	}
	if err := checkExports(c.Export); err != nil {
		return invalid("export", err)
	}
	for i := range c.Servers {
		c.Servers[i].Source, c.Servers[i].File = fmt.Sprintf("%s: servers[%d]", c.File, i), c.File
	}
	return nil
}

// DataDir returns only the data directory, for subcommands that need nothing else.
func (s *Settings) DataDir() (string, error) {
	c, err := s.Load()
	if err != nil {
		return "", err
	}
	return c.DataDir, nil
}
