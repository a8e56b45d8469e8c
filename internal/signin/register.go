package signin

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// How a client authenticates when it asks for tokens.
const (
	methodNone  = "none"
	methodBasic = "client_secret_basic"
	methodPost  = "client_secret_post"
	methodKey   = "private_key_jwt"
)

// client is callgate's registration at an authorization server.
type client struct {
	ID     string `json:"id"`
	Secret string `json:"secret,omitempty"` // only if callgate registered itself: a configured secret stays in the configuration
	Method string `json:"method"`
}

// identify returns the client that callgate uses at the authorization server: the configured one, the one described by
// its own document, or a new registration.
func (a *Account) identify(ctx context.Context, web *http.Client, at *oauthex.AuthServerMeta, redirect string) (client, error) {
	switch {
	case a.server.ClientID != "":
		method, err := a.method(at.TokenEndpointAuthMethodsSupported, a.server.ClientSecret)
		return client{ID: a.server.ClientID, Method: method}, err
	case a.server.ClientMetadata != "" && at.ClientIDMetadataDocumentSupported:
		return client{ID: a.server.ClientMetadata, Method: methodNone}, nil
	case at.RegistrationEndpoint == "":
		return client{}, errors.New("clients cannot register themselves there: " + registerYourself)
	}
	wanted := methodNone
	if known := at.TokenEndpointAuthMethodsSupported; len(known) > 0 && !slices.Contains(known, methodNone) {
		wanted = methodPost
		if slices.Contains(known, methodBasic) {
			wanted = methodBasic
		}
	}
	got, err := oauthex.RegisterClient(ctx, at.RegistrationEndpoint, &oauthex.ClientRegistrationMetadata{
		ClientName: "callgate", RedirectURIs: []string{redirect}, ApplicationType: "native", TokenEndpointAuthMethod: wanted,
		GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"},
	}, web)
	if err != nil {
		return client{}, fmt.Errorf("callgate cannot register itself (%w): %s", brief(err), registerYourself)
	}
	c := client{ID: got.ClientID, Secret: got.ClientSecret, Method: got.TokenEndpointAuthMethod}
	if c.Method == "" {
		c.Method, err = a.method(at.TokenEndpointAuthMethodsSupported, c.Secret)
	} else if !slices.Contains([]string{methodNone, methodBasic, methodPost}, c.Method) {
		err = fmt.Errorf("it registers clients that authenticate with %.40q, which callgate does not support: %s", c.Method, registerYourself)
	}
	return c, err
}

const registerYourself = "register a client with the redirect address http://127.0.0.1:PORT/callback, and configure oauth.clientId for the server"

// method picks one of the authorization server's authentication methods. HTTP Basic is the default if it names none.
func (a *Account) method(known []string, secret string) (string, error) {
	switch {
	case a.server.Key != "":
		return methodKey, nil
	case secret == "":
		return methodNone, nil
	case len(known) == 0 || slices.Contains(known, methodBasic):
		return methodBasic, nil
	case slices.Contains(known, methodPost):
		return methodPost, nil
	case slices.Contains(known, methodNone):
		return methodNone, nil
	}
	return "", fmt.Errorf("it accepts no client secret (only %.100q): configure oauth.privateKey", known)
}
