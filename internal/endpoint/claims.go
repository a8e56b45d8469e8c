package endpoint

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"callgate/internal/jsonx"
)

// claims holds a token's claims, read by exact names. Go's decoder treats "AUD" and "aud" as the same, and the last one
// wins. So a token could say one thing to its issuer and another to callgate.
type claims struct {
	issuer, subject string
	audience        []string
	scopes          []string
	tenants         []string
	until           time.Time
}

// tokenTypes lists the types of tokens that give access (RFC 9068), or that mean nothing in particular.
var tokenTypes = []string{"", "jwt", "at+jwt", "application/jwt", "application/at+jwt"}

// skew is how far an issuer's clock may be ahead of ours.
const skew = time.Minute

// readClaims reads a token whose signature has been verified. tenants is the claim that names tenants, or "".
func readClaims(token, tenants string, now time.Time) (c claims, err error) {
	payload, err := payloadOf(token)
	if err != nil {
		return c, err
	}
	names := []string{"iss", "sub", "aud", "exp", "nbf", "iat", "scope", "scp", "cnf"}
	at := slices.Index(names, tenants)
	if at < 0 && tenants != "" {
		at = len(names)
		names = append(names, tenants)
	}
	r := claimReader{names: names, found: make([]jsonx.Member, len(names))}
	if err := jsonx.Members(payload, names, r.found); err != nil {
		return c, fmt.Errorf("the token's claims: %w", err)
	}
	c.issuer, c.subject, c.audience = r.text(0), r.text(1), r.texts(2)
	for _, s := range slices.Concat(r.texts(6), r.texts(7)) {
		c.scopes = append(c.scopes, strings.Fields(s)...)
	}
	if at >= 0 && r.found[at].Value != nil {
		c.tenants = r.texts(at)
	}
	until, ends := r.time(3)
	from, begins := r.time(4)
	issued, dated := r.time(5)
	c.until = until
	switch err = r.err; {
	case err != nil:
	case r.found[8].Value != nil:
		err = errors.New("the token is bound to a key of its client (cnf), which a Bearer token cannot prove")
	case !ends:
		err = errors.New("the token does not say when it expires (exp)")
	case !now.Before(until):
		err = errors.New("the token has expired")
	case begins && now.Add(skew).Before(from):
		err = errors.New("the token is not valid yet")
	case dated && now.Add(skew).Before(issued):
		err = errors.New("the token was issued in the future")
	}
	return c, err
}

// claimReader reads the values of claims, and collects errors.
type claimReader struct {
	names []string
	found []jsonx.Member
	err   error
}

func (r *claimReader) wrong(i int, what string) {
	r.err = errors.Join(r.err, fmt.Errorf("the token's %s%s", r.names[i], what))
}

func (r *claimReader) text(i int) string {
	s, ok := jsonx.String(r.found[i].Value)
	if r.found[i].Value != nil && !ok {
		r.wrong(i, " is not text")
	}
	return s
}

func (r *claimReader) texts(i int) []string {
	if r.found[i].Value == nil || r.found[i].Value[0] != '[' {
		return []string{r.text(i)}
	}
	all, err := stringsOf(r.found[i].Value)
	if err != nil {
		r.wrong(i, ": "+err.Error())
	}
	return all
}

func (r *claimReader) time(i int) (t time.Time, given bool) {
	if r.found[i].Value == nil {
		return t, false
	}
	seconds, err := strconv.ParseFloat(string(r.found[i].Value), 64) // fails for null, true and text
	if err != nil || math.Abs(seconds) > 1<<40 {
		r.wrong(i, " is not a time in seconds")
		return t, true
	}
	return time.Unix(int64(seconds), 0), true
}

// payloadOf returns the claims of an access token as JSON that can be read in only one way.
func payloadOf(token string) ([]byte, error) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return nil, errors.New("the token does not have three parts")
	}
	header, err := base64.RawURLEncoding.DecodeString(parts[0])
	if err != nil {
		return nil, err
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return nil, err
	}
	if err := errors.Join(jsonx.Check(header), jsonx.Check(payload)); err != nil {
		return nil, fmt.Errorf("the token can be read in two ways: %w", err)
	}
	var typ [1]jsonx.Member
	if err := jsonx.Members(header, []string{"typ"}, typ[:]); err != nil {
		return nil, fmt.Errorf("the token's header: %w", err)
	}
	kind, ok := jsonx.String(typ[0].Value)
	if typ[0].Value != nil && !ok || !slices.Contains(tokenTypes, strings.ToLower(kind)) {
		return nil, fmt.Errorf("the token is of the type %.40s, not an access token", typ[0].Value)
	}
	return payload, nil
}

// stringsOf reads a JSON array of strings.
func stringsOf(list []byte) (all []string, err error) {
	var items []*string
	if json.Unmarshal(list, &items) != nil || slices.Contains(items, nil) {
		return nil, errors.New("it is not a list of texts")
	}
	for _, item := range items {
		all = append(all, *item)
	}
	return all, nil
}
