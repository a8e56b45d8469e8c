package config

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"callgate/internal/outbound"
	"callgate/internal/signin"
)

// oauthConfig says how callgate signs in to a server behind a URL. Without it, a person signs in, and callgate
// registers itself as a client.
type oauthConfig struct {
	Grant          string // authorization_code (also ""), client_credentials or jwt_bearer
	Issuer         string // the only authorization server that may be asked; "" means the one that the server names
	ClientID       string // of a client that is registered there
	ClientSecret   string
	PrivateKey     string // a file with the key with which the client signs instead
	ClientMetadata string // address of a document that describes the client
	Assertion      string // a file with the workload's token, for jwt_bearer
	Scopes         []string
	RedirectPort   int // local port that receives the answer; 0 means any
}

// isSet reports whether any member is configured.
func (o *oauthConfig) isSet() bool { return !reflect.ValueOf(*o).IsZero() }

// grants maps the configuration's words to grants.
var grants = map[string]signin.Grant{
	"": signin.Person, "authorization_code": signin.Person, "client_credentials": signin.ClientCredentials, "jwt_bearer": signin.Workload,
}

// assemble checks the configuration and replaces its variables. The caller sets the server's name and address.
func (o *oauthConfig) assemble() (s signin.Server, err error) {
	grant, ok := grants[o.Grant]
	if !ok {
		return s, fmt.Errorf("grant %q: use authorization_code, client_credentials or jwt_bearer", o.Grant)
	}
	s = signin.Server{Grant: grant, Scopes: o.Scopes}
	for _, text := range []struct {
		from string
		to   *string
	}{{o.Issuer, &s.Issuer}, {o.ClientID, &s.ClientID}, {o.ClientSecret, &s.ClientSecret}, {o.ClientMetadata, &s.ClientMetadata}, {o.PrivateKey, &s.Key}, {o.Assertion, &s.Assertion}} {
		if *text.to, err = expandVariables(text.from); err != nil {
			return s, err
		}
	}
	s.Key, s.Assertion = ExpandHome(s.Key), ExpandHome(s.Assertion)
	return s, o.check(s)
}

// check returns an error if members are missing or do not go together.
func (o *oauthConfig) check(s signin.Server) error {
	if err := o.checkClient(s); err != nil {
		return err
	}
	alone := s.Grant != signin.Person
	switch {
	case alone && s.Issuer == "":
		return errors.New("a grant without a person needs an issuer: nobody checks to which address the server directs callgate's secret")
	case s.Grant == signin.ClientCredentials && s.ClientSecret == "" && s.Key == "":
		return errors.New("client_credentials needs a clientSecret or a privateKey")
	case (s.Grant == signin.Workload) != (s.Assertion != ""):
		return errors.New("jwt_bearer and assertion need each other")
	case o.RedirectPort != 0 && alone:
		return errors.New("redirectPort is only for a sign-in in a browser")
	case o.RedirectPort < 0 || o.RedirectPort > 65535:
		return fmt.Errorf("redirectPort %d: use a port, or leave it out", o.RedirectPort)
	}
	return nil
}

// checkClient checks where callgate signs in, and as which client.
func (o *oauthConfig) checkClient(s signin.Server) error {
	switch {
	case s.Issuer != "" && !confidential(s.Issuer):
		return fmt.Errorf("issuer %q: use the https address of the authorization server", s.Issuer)
	case s.ClientMetadata != "" && (!strings.HasPrefix(s.ClientMetadata, "https://") || strings.Count(s.ClientMetadata, "/") < 3):
		return fmt.Errorf("clientMetadata %q: use the https address of the document, which has a path", s.ClientMetadata)
	case s.ClientID != "" && s.ClientMetadata != "":
		return errors.New("clientId and clientMetadata exclude each other: use one")
	case s.ClientSecret != "" && s.Key != "":
		return errors.New("clientSecret and privateKey exclude each other: use one")
	case s.ClientID == "" && (s.ClientSecret != "" || s.Key != "" || s.Grant != signin.Person):
		return errors.New("a clientSecret, a privateKey and a grant without a person need a clientId")
	}
	return nil
}

func confidential(address string) bool {
	_, err := outbound.Parse(address)
	return err == nil
}

// files returns the files that no tool may touch. A file whose path cannot be expanded is of no use to any server.
func (o *oauthConfig) files() (files []string) {
	for _, text := range []string{o.PrivateKey, o.Assertion} {
		if path, err := expandVariables(text); err == nil && path != "" {
			files = append(files, ExpandHome(path))
		}
	}
	return files
}
