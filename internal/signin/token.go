package signin

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"callgate/internal/remote"
)

// request asks the login's authorization server for a token. It leaves out empty parameters.
func (a *Account) request(ctx context.Context, l *login, params map[string]string) (*oauth2.Token, error) {
	// This flow takes any grant type. The library's other flows cannot send the resource when they refresh.
	flow := clientcredentials.Config{
		ClientID: l.Client.ID, TokenURL: l.TokenEndpoint, AuthStyle: oauth2.AuthStyleInParams, EndpointParams: url.Values{},
	}
	for name, value := range params {
		if value != "" {
			flow.EndpointParams.Set(name, value)
		}
	}
	secret := l.Client.Secret
	if secret == "" && l.Client.ID == a.server.ClientID {
		secret = a.server.ClientSecret
	}
	switch l.Client.Method {
	case methodBasic:
		flow.ClientSecret, flow.AuthStyle = secret, oauth2.AuthStyleInHeader
	case methodPost:
		flow.ClientSecret = secret
	case methodKey:
		assertion, err := signature(a.server.Key, l.Client.ID, l.Issuer)
		if err != nil {
			return nil, err
		}
		flow.EndpointParams.Set("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
		flow.EndpointParams.Set("client_assertion", assertion)
	}
	token, err := flow.Token(context.WithValue(ctx, oauth2.HTTPClient, a.web()))
	var refused *oauth2.RetrieveError
	switch {
	case err == nil:
		return token, nil
	case !errors.As(err, &refused) || temporary(refused.Response.StatusCode):
		return nil, brief(&remote.PassingError{Err: err})
	case refused.ErrorCode != "":
		return nil, errors.New(excerpt(refused.ErrorCode + " " + refused.ErrorDescription))
	}
	return nil, brief(err)
}

// temporary reports whether an HTTP status says nothing about the request itself.
func temporary(status int) bool {
	return status/100 == 5 || status == http.StatusRequestTimeout || status == http.StatusTooManyRequests
}

// web returns the client for the URLs that the server names.
func (a *Account) web() *http.Client { return newClient(a.server.URL, http.ProxyFromEnvironment) }
