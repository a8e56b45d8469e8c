package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"callgate/internal/idp"
)

// oidcConfig is the OpenID Connect provider where approvers sign in.
type oidcConfig struct {
	Issuer       string
	ClientID     string
	ClientSecret string // a file
	Scopes       []string
	NameClaim    string
	GroupsClaim  string
	Approve      []string // groups that may approve
	View         []string // groups that may watch
}

func (o *oidcConfig) validate() error {
	if o.Issuer == "" {
		if o.ClientID != "" || len(o.Approve)+len(o.View) > 0 {
			return errors.New("issuer is missing: the address of the provider, such as https://login.example.com")
		}
		return nil
	}
	if !confidential(o.Issuer) {
		return fmt.Errorf("issuer: %q: use an https address", o.Issuer)
	}
	switch {
	case o.ClientID == "":
		return errors.New("clientId is missing: what callgate is called at the provider")
	case len(o.Approve)+len(o.View) == 0:
		return errors.New("approve and view name no groups, so nobody could do anything")
	}
	if o.ClientSecret != "" {
		file, err := filepath.Abs(ExpandHome(o.ClientSecret))
		if err != nil {
			return err
		}
		o.ClientSecret = file
	}
	return nil
}

// Provider returns the provider where approvers sign in, or nil if they do not. claim names their tenants, and may be
// "". operators are the groups whose members see all tenants.
func (o *oidcConfig) Provider(claim string, operators []string) *idp.Provider {
	if o.Issuer == "" {
		return nil
	}
	options := idp.Options{
		Issuer: o.Issuer, ClientID: o.ClientID, Scopes: o.Scopes, NameClaim: o.NameClaim, GroupsClaim: o.GroupsClaim,
		Approvers: o.Approve, Viewers: o.View, TenantsClaim: claim, Operators: operators,
	}
	if len(o.Scopes) == 0 {
		options.Scopes = []string{"profile", "email", "groups"}
	}
	if o.ClientSecret != "" {
		options.Secret = func() (string, error) { return readLine(o.ClientSecret) }
	}
	return idp.New(options)
}

// readLine returns the content of a file, without surrounding white space.
func readLine(path string) (string, error) {
	data, err := os.ReadFile(path)
	return strings.TrimSpace(string(data)), err
}
