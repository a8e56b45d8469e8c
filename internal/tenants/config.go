// Package tenants keeps the tenants of callgate serve apart: which there are, what each may use at once, whose turn it
// is, and when each is opened and closed.
package tenants

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"callgate/internal/companion/credentials"
	"callgate/internal/lazyregexp"
)

// Config says which tenants there are. Its zero value has none; callgate then serves one worker.
type Config struct {
	Names     []string // the known tenants
	Any       bool     // allow any tenant that a credential names, up to Most
	Most      int      // most tenants in all; 0 means DefaultMost
	Claim     string   // of tokens; "" means DefaultClaim
	Operators []string // groups whose members see all tenants
	Rules     string   // file that the rules of a new tenant are copied from; "" means the usual rules
	Idle      time.Duration
	Limits    Limits
	Each      []Tenant // settings of single tenants
}

// Tenant holds the settings in which one tenant differs from the others. A tenant with an entry counts as one of Names.
type Tenant struct {
	Name   string
	Rules  string
	Limits Limits
}

const (
	DefaultMost  = 1000
	DefaultClaim = "tenant_id"
	DefaultIdle  = 30 * time.Minute
)

// Limits bounds what one tenant uses at once. 0 means the bound of all tenants, or the default.
type Limits struct {
	InFlight       int   // calls that run; calls that wait for a person count as pending
	CallsPerMinute int   // default: no bound
	Sessions       int   // of hosts
	Pending        int   // approvals that wait
	Bytes          int64 // of messages in flight
	Weight         int   // requests in a row
}

var defaults = Limits{InFlight: 256, Sessions: 2000, Pending: 10_000, Bytes: 64 << 20, Weight: 1}

// over returns l, with the limits that l leaves at 0 taken from below.
func (l Limits) over(below Limits) Limits {
	return Limits{
		cmp.Or(l.InFlight, below.InFlight), cmp.Or(l.CallsPerMinute, below.CallsPerMinute), cmp.Or(l.Sessions, below.Sessions),
		cmp.Or(l.Pending, below.Pending), cmp.Or(l.Bytes, below.Bytes), cmp.Or(l.Weight, below.Weight),
	}
}

// minBytes is the lowest bound on bytes that ordinary results fit in.
const minBytes = 4 << 20

func (l Limits) check() error {
	for _, one := range []struct {
		key   string
		value int64
	}{
		{"inFlight", int64(l.InFlight)}, {"callsPerMinute", int64(l.CallsPerMinute)}, {"sessions", int64(l.Sessions)},
		{"pending", int64(l.Pending)}, {"bytes", l.Bytes}, {"weight", int64(l.Weight)},
	} {
		if one.value < 0 {
			return fmt.Errorf("%s: %d: use a positive number", one.key, one.value)
		}
	}
	switch {
	case l.Bytes != 0 && l.Bytes < minBytes:
		return fmt.Errorf("bytes: %d: use at least %d", l.Bytes, minBytes)
	case l.Weight > 100:
		return fmt.Errorf("weight: %d: use 1 to 100", l.Weight)
	}
	return nil
}

var nameForm = lazyregexp.New(`^[a-z0-9][a-z0-9-]{0,62}$`)

// CheckName returns an error if a name cannot be a tenant's. The name becomes that of a folder and a bucket.
func CheckName(name string) error {
	if !nameForm.MatchString(name) {
		return fmt.Errorf("%.80q is not a tenant's name: use a-z, 0-9 and -, at most 63, not beginning with -", name)
	}
	if name == "default" {
		return errors.New("no tenant can be called default: that is the worker of the operator")
	}
	return nil
}

// lookalike returns a different name in among that looks the same, or "" if there is none.
func lookalike(name string, among []string) string {
	seen := credentials.Skeleton(name)
	for _, other := range among {
		if other != name && credentials.Skeleton(other) == seen {
			return other
		}
	}
	return ""
}

// On reports whether there are tenants.
func (c *Config) On() bool { return c.Any || len(c.Names)+len(c.Each) > 0 }

// SignInClaim returns the claim that names the tenants of a person who signs in, and the groups whose members see all
// tenants. claim is "" without tenants.
func (c *Config) SignInClaim() (claim string, operators []string) {
	if !c.On() {
		return "", nil
	}
	return c.Claim, c.Operators
}

// Check checks every value and fills in the defaults. The error begins with the key.
func (c *Config) Check() error {
	c.Claim, c.Most, c.Idle = cmp.Or(c.Claim, DefaultClaim), cmp.Or(c.Most, DefaultMost), cmp.Or(c.Idle, DefaultIdle)
	if slices.Contains([]string{"iss", "sub", "aud", "exp", "nbf", "iat", "scope", "scp"}, c.Claim) {
		return fmt.Errorf("claim: %s says something else: have your authorization server send a claim of its own", c.Claim)
	}
	if c.Most < 1 || c.Most > 10_000 {
		return fmt.Errorf("most: %d: use 1 to 10000", c.Most)
	}
	if c.Idle < time.Second {
		return fmt.Errorf("idle: %s: use a duration such as 30m", c.Idle)
	}
	if err := c.Limits.check(); err != nil {
		return fmt.Errorf("limits: %w", err)
	}
	for i, one := range c.Each {
		if err := one.Limits.check(); err != nil {
			return fmt.Errorf("each[%d]: limits: %w", i, err)
		}
		if slices.ContainsFunc(c.Each[:i], func(t Tenant) bool { return t.Name == one.Name }) {
			return fmt.Errorf("each[%d]: %q appears twice", i, one.Name)
		}
		if !slices.Contains(c.Names, one.Name) {
			c.Names = append(c.Names, one.Name)
		}
	}
	for i, name := range c.Names {
		if err := CheckName(name); err != nil {
			return fmt.Errorf("names: %w", err)
		}
		if other := lookalike(name, c.Names[:i]); other != "" {
			return fmt.Errorf("names: %q and %q look the same", other, name)
		}
	}
	if len(c.Names) > c.Most {
		return fmt.Errorf("names: there are %d, and most is %d", len(c.Names), c.Most)
	}
	return nil
}

// Of returns the settings of one tenant, with the common ones and the defaults filled in.
func (c *Config) Of(name string) Tenant {
	own := Tenant{Name: name}
	if i := slices.IndexFunc(c.Each, func(t Tenant) bool { return t.Name == name }); i >= 0 {
		own = c.Each[i]
	}
	own.Rules = cmp.Or(own.Rules, c.Rules)
	own.Limits = own.Limits.over(c.Limits).over(defaults)
	return own
}

// Dir returns the folder that holds everything of a tenant.
func Dir(dataDir, name string) string { return filepath.Join(dataDir, folder, name) }

// folder holds one folder for each tenant.
const folder = "tenants"

// Refused says why a client is not let in to a tenant.
type Refused struct{ Text string }

func (e *Refused) Error() string { return e.Text }

// Choose returns the tenant that a request is for: the one that the credential names. If it names several, the path has
// to say which; path is the tenant in the path, or "". A credential that names no tenant, or another than the path, is
// refused. With open, no credential is asked for, and the path alone counts.
func (c *Config) Choose(named []string, path string, open bool) (name string, err error) {
	switch {
	case open && path == "":
		return "", &Refused{"no credential is asked for here, so the path has to name the tenant: /t/TENANT/mcp"}
	case open:
		name = path
	case len(named) == 0:
		return "", &Refused{"the credential names no tenant: tokens of an authorization server need the claim " + c.Claim + ", and those of mcpTokens a tenant"}
	case path != "" && !slices.Contains(named, path):
		return "", &Refused{"the credential is not for the tenant that the path names"}
	case path != "":
		name = path
	case len(named) > 1:
		return "", &Refused{"the credential names several tenants, so the path has to say which: /t/TENANT/mcp"}
	default:
		name = named[0]
	}
	if err := CheckName(name); err != nil {
		return "", &Refused{err.Error()}
	}
	if !c.Any && !slices.Contains(c.Names, name) {
		return "", &Refused{fmt.Sprintf("there is no tenant %q here", name)}
	}
	return name, nil
}

// MayBegin returns an error if no tenant of that name can begin here. have lists the tenants that have a folder.
func (c *Config) MayBegin(name string, have []string) error {
	if slices.Contains(have, name) {
		return nil
	}
	all := slices.Concat(have, c.Names)
	if other := lookalike(name, all); other != "" {
		return &Refused{fmt.Sprintf("the tenant %q looks the same as another", name)}
	}
	slices.Sort(all)
	if all = slices.Compact(all); !slices.Contains(all, name) && len(all) >= c.Most {
		return &Refused{fmt.Sprintf("there are %d tenants already: no more can begin here (tenants.most)", len(all))}
	}
	return nil
}
