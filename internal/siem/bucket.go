package siem

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"callgate/audit"
	"callgate/internal/durable"
)

// bucket writes batches to S3-compatible object storage. Each batch is one object: gzip of one record per line. An
// object is named after its first record, so that a batch that is sent again replaces the earlier one.
type bucket struct {
	web
	base   *url.URL // URL of the bucket, with the prefix of object names
	region string
}

// objectEvery is how long records wait for others, because each batch is an object.
const objectEvery = time.Minute

func (c *Config) bucket(u *url.URL, client *http.Client) *bucket {
	base := *u
	base.Scheme, base.RawQuery = strings.TrimPrefix(u.Scheme, "s3+"), ""
	return &bucket{web{c: c, client: client}, &base, u.Query().Get("region")}
}

// checkBucket checks the settings that only buckets have.
func (c *Config) checkBucket(u *url.URL) error {
	name, _, _ := strings.Cut(strings.TrimPrefix(u.Path, "/"), "/")
	switch query := u.Query(); {
	case name == "" || query.Get("region") == "" || len(query) > 1:
		return fmt.Errorf("url: %q: use s3+https://host/bucket/prefix?region=eu-central-1", c.URL)
	case c.Keys == "" || c.Header != "":
		return errors.New("keys: a bucket needs them, and no header")
	}
	return nil
}

func (b *bucket) patience() time.Duration { return objectEvery }

func (b *bucket) send(ctx context.Context, records []audit.Line) (bool, error) {
	var body bytes.Buffer
	packed := gzip.NewWriter(&body)
	for i := range records {
		text, err := b.c.form(&records[i].Record)
		if err == nil {
			_, err = packed.Write(append(text, '\n'))
		}
		if err != nil {
			return false, err
		}
	}
	if err := packed.Close(); err != nil {
		return false, err
	}
	first, at := &records[0], *b.base
	at.Path = path.Join("/", at.Path, first.Time.UTC().Format("2006/01/02/150405.000000-")+first.Hash[:16]+".log.gz")
	request, err := http.NewRequestWithContext(ctx, http.MethodPut, at.String(), bytes.NewReader(body.Bytes()))
	if err != nil {
		return false, err
	}
	request.Header.Set("Content-Type", "application/gzip")
	keys, err := readKeys(b.c.Keys)
	if err != nil {
		return false, err
	}
	keys.sign(request, body.Bytes(), b.region, time.Now())
	return b.receipt(request)
}

// keys are the access keys of an account at AWS or another S3 provider.
type keys struct{ id, secret, token string }

// readKeys reads a file in the format of AWS' tools: lines of the form name = value. If there are profiles, it reads
// the default one.
func readKeys(file string) (k keys, err error) {
	text, err := durable.ReadFile(file, maxFile)
	if err != nil {
		return k, fmt.Errorf("keys: %w", err)
	}
	of := map[string]*string{"aws_access_key_id": &k.id, "aws_secret_access_key": &k.secret, "aws_session_token": &k.token}
	counts := true
	for line := range strings.Lines(string(text)) {
		if profile, ok := strings.CutPrefix(strings.TrimSpace(line), "["); ok {
			profile, _, _ = strings.Cut(profile, "]")
			counts = strings.TrimSpace(profile) == "default"
			continue
		}
		name, value, _ := strings.Cut(line, "=")
		if to := of[strings.TrimSpace(name)]; to != nil && counts {
			*to = strings.TrimSpace(value)
		}
	}
	if k.id == "" || k.secret == "" {
		return k, fmt.Errorf("keys: %s has no aws_access_key_id and aws_secret_access_key of the default profile", file)
	}
	return k, nil
}

// sign signs a request to S3 and all its headers with AWS Signature Version 4.
func (k keys) sign(r *http.Request, body []byte, region string, now time.Time) {
	sum := sha256.Sum256(body)
	r.Header.Set("X-Amz-Content-Sha256", hex.EncodeToString(sum[:]))
	r.Header.Set("X-Amz-Date", now.UTC().Format("20060102T150405Z"))
	if k.token != "" {
		r.Header.Set("X-Amz-Security-Token", k.token)
	}
	r.URL.RawPath = strings.NewReplacer("%2F", "/", "+", "%20").Replace(url.QueryEscape(r.URL.Path)) // stricter than Go's own
	names := []string{"host"}
	for name := range r.Header {
		names = append(names, strings.ToLower(name))
	}
	slices.Sort(names)
	var canonical strings.Builder
	fmt.Fprintf(&canonical, "%s\n%s\n%s\n", r.Method, r.URL.EscapedPath(), r.URL.Query().Encode())
	for _, name := range names {
		value := r.Header.Get(name)
		if name == "host" {
			value = r.URL.Host
		}
		fmt.Fprintf(&canonical, "%s:%s\n", name, value)
	}
	signed := strings.Join(names, ";")
	fmt.Fprintf(&canonical, "\n%s\n%x", signed, sum)
	scope := []string{now.UTC().Format("20060102"), region, "s3", "aws4_request"}
	text := fmt.Sprintf("AWS4-HMAC-SHA256\n%s\n%s\n%x", r.Header.Get("X-Amz-Date"), strings.Join(scope, "/"), sha256.Sum256([]byte(canonical.String())))
	key := []byte("AWS4" + k.secret)
	for _, part := range append(scope, text) {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(part))
		key = mac.Sum(nil)
	}
	r.Header.Set("Authorization", fmt.Sprintf("AWS4-HMAC-SHA256 Credential=%s/%s, SignedHeaders=%s, Signature=%x", k.id, strings.Join(scope[:4], "/"), signed, key))
}
