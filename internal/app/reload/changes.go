package reload

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"reflect"
	"slices"
	"strings"

	"callgate/internal/config"
)

// Change is a setting that differs between two configurations.
type Change struct {
	Key      string
	From, To string // "" if the value may be secret or long
	Restart  bool   // it takes effect only when callgate starts
}

func (c Change) String() string {
	text := c.Key
	if c.From != "" || c.To != "" {
		text += fmt.Sprintf(" %s → %s", c.From, c.To)
	}
	if c.Restart {
		text += " (after a restart)"
	}
	return text
}

// Summary says in one sentence what has changed.
func Summary(changed []Change) string {
	if len(changed) == 0 {
		return "Configuration read again: no setting has changed."
	}
	texts := make([]string, len(changed))
	for i, c := range changed {
		texts[i] = c.String()
	}
	return "Configuration read again: " + strings.Join(texts, ", ") + "."
}

// atOnce lists the keys that take effect at once, with all keys below them: autonomy for new sessions, servers too.
var atOnce = []string{
	"logLevel", "mode", "autonomy", "escalation", "timeout", "claimWithin", "maxPending", "handOver", "hosts", "limits",
	"terminal", "allowTerminalWrite", "policy", "servers", "mcpConfig", "mcpTokens", "auth", "oauth", "mcpHosts", "mcpOrigins",
	"tls", "tenants",
}

// later lists the keys below them that take effect only after a restart.
var later = []string{"limits.maxInFlightBytes", "tenants.limits.bytes", "tenants.idle", "tenants.claim", "tenants.operators"}

// publicSettings lists the text settings whose values people may see.
var publicSettings = []string{"logLevel", "mode", "autonomy", "escalation", "gate", "flow", "guard", "terminal", "auth", "remember", "limits.preset", "worker", "agent"}

func within(key string, list []string) bool {
	return slices.ContainsFunc(list, func(k string) bool { return key == k || strings.HasPrefix(key, k+".") })
}

// State is a configuration and the contents of its files.
type State struct {
	c       *config.Config
	servers map[string]config.ServerConfig
	lock    []byte
	sum     [sha256.Size]byte
}

// StateOf reads the files that a configuration names.
func StateOf(c *config.Config) (s State, err error) {
	s = State{c: c, servers: map[string]config.ServerConfig{}, sum: sumOf(c)}
	all, err := c.ServerConfigs()
	if err != nil {
		return s, err
	}
	for _, one := range all {
		one.Source = ""
		s.servers[one.Name] = one
	}
	if s.lock, err = os.ReadFile(c.Files().Lock()); errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return s, err
}

// between lists what has changed, by the configuration's keys.
func between(old, next State) (list []Change) {
	compare("", reflect.ValueOf(old.c).Elem(), reflect.ValueOf(next.c).Elem(), &list)
	list = slices.DeleteFunc(list, func(c Change) bool { return c.Key == "servers" })
	if names := old.changedServers(next); len(names) > 0 {
		list = append(list, Change{Key: "servers (" + strings.Join(names, ", ") + ")"})
	}
	if !bytes.Equal(old.lock, next.lock) {
		list = append(list, Change{Key: "callgate.lock"})
	}
	return list
}

// Servers reports whether hosts may get other servers because of the change.
func (c Change) Servers() bool {
	return strings.HasPrefix(c.Key, "servers") || slices.Contains([]string{"callgate.lock", "mcpConfig", "limits.maxResultBytes"}, c.Key)
}

// compare adds the differences to list. It walks the exported fields that the configuration file can set.
func compare(key string, old, next reflect.Value, list *[]Change) {
	for i := range old.NumField() {
		f := old.Type().Field(i)
		tag := f.Tag.Get("mapstructure")
		if tag == "-" || !f.IsExported() {
			continue
		}
		below := config.KeyOf(f.Name)
		if key != "" {
			below = key + "." + below
		}
		if strings.Contains(tag, "squash") {
			below = key
		}
		a, b := old.Field(i), next.Field(i)
		if a.Kind() == reflect.Struct {
			compare(below, a, b, list)
			continue
		}
		if reflect.DeepEqual(a.Interface(), b.Interface()) {
			continue
		}
		c := Change{Key: below, Restart: !within(below, atOnce) || within(below, later)}
		if isPlain(a.Kind()) || slices.Contains(publicSettings, below) {
			c.From, c.To = shown(a), shown(b)
		}
		*list = append(*list, c)
	}
}

// isPlain reports whether values of the kind hold no text: switches, numbers and durations.
func isPlain(k reflect.Kind) bool {
	return k == reflect.Bool || k >= reflect.Int && k <= reflect.Float64
}

func shown(v reflect.Value) string {
	if text := fmt.Sprint(v.Interface()); text != "" {
		return text
	}
	return "none"
}

// changedServers names the servers that were added, removed or changed.
func (s State) changedServers(next State) (names []string) {
	for name, one := range s.servers {
		if now, ok := next.servers[name]; !ok {
			names = append(names, name+" removed")
		} else if !reflect.DeepEqual(one, now) {
			names = append(names, name+" changed")
		}
	}
	for name := range next.servers {
		if _, ok := s.servers[name]; !ok {
			names = append(names, name+" added")
		}
	}
	slices.Sort(names)
	return names
}
