package rag

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"callgate/internal/loopback"
	"callgate/internal/periodic"
)

// RemoteOptions configures an embedder behind HTTP. Texts of the workspace are sent to it.
type RemoteOptions struct {
	API   string // "openai" (or any server of its /v1/embeddings API) or "ollama"
	URL   string // https, or http to this machine; default: https://api.openai.com/v1 or http://localhost:11434
	Model string
	Dim   int // of the model's vectors
	// SendDim asks an OpenAI-compatible server to shorten its vectors to Dim.
	SendDim bool
	// KeyEnv names the environment variable that holds the API key; "" means no key.
	KeyEnv string
	// DocumentPrefix and QueryPrefix are put before texts, for models that need to know which of the two they read.
	DocumentPrefix, QueryPrefix string
	Batch                       int           // texts in a request; default 64
	MaxText                     int           // bytes of a text that are sent; default 8,000
	Timeout                     time.Duration // per request; default 30 s
	Retries                     int           // after transient failures; default 3, below 0: none
}

// remote is an embedder behind HTTP.
type remote struct {
	options RemoteOptions
	url     string
	key     string
	client  *http.Client
}

// NewRemote returns an embedder behind HTTP. It sends nothing yet.
func NewRemote(o RemoteOptions) (Embedder, error) {
	path, base := "/embeddings", "https://api.openai.com/v1"
	switch o.API {
	case "openai":
	case "ollama":
		path, base = "/api/embed", "http://localhost:11434"
	default:
		return nil, fmt.Errorf("embedder: api %q: want openai or ollama", o.API)
	}
	if o.Model == "" {
		return nil, errors.New("embedder: model is missing")
	}
	if o.Dim < 1 || o.Dim > maxDim {
		return nil, fmt.Errorf("embedder: dimension %d: want 1 to %d", o.Dim, maxDim)
	}
	u, err := url.Parse(strings.TrimRight(cmp.Or(o.URL, base), "/") + path)
	if err != nil {
		return nil, fmt.Errorf("embedder: url: %w", err)
	}
	if u.Host == "" || !loopback.Confidential(u) {
		return nil, fmt.Errorf("embedder: url %q: it gets the texts, so use https, or http to this machine alone", u.Redacted())
	}
	r := &remote{options: o, url: u.String()}
	if o.KeyEnv != "" {
		if r.key = os.Getenv(o.KeyEnv); r.key == "" {
			return nil, fmt.Errorf("embedder: environment variable %s is not set", o.KeyEnv)
		}
	}
	r.options.Batch = cmp.Or(max(0, o.Batch), 64)
	r.options.MaxText = cmp.Or(max(0, o.MaxText), 8000)
	r.options.Retries = max(0, cmp.Or(o.Retries, 3))
	// A redirect could send texts, and perhaps the key, to an address that nobody configured.
	r.client = &http.Client{
		Timeout:       cmp.Or(max(0, o.Timeout), 30*time.Second),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return r, nil
}

func (r *remote) ID() string {
	o := &r.options
	prefixes := crc32.ChecksumIEEE([]byte(o.DocumentPrefix + "\x00" + o.QueryPrefix))
	return fmt.Sprintf("%s/%s/%d/%08x", o.API, o.Model, o.Dim, prefixes)
}

func (r *remote) Dim() int { return r.options.Dim }

func (r *remote) Embed(ctx context.Context, purpose Purpose, texts []string) ([][]float32, error) {
	prefix := r.options.DocumentPrefix
	if purpose == ForQuery {
		prefix = r.options.QueryPrefix
	}
	var all [][]float32
	for len(texts) > 0 {
		batch := make([]string, min(len(texts), r.options.Batch))
		for i := range batch {
			batch[i] = prefix + cut(texts[i], r.options.MaxText)
		}
		texts = texts[len(batch):]
		vectors, err := r.ask(ctx, batch)
		if err != nil {
			return nil, fmt.Errorf("embedder %s: %w", r.ID(), err)
		}
		all = append(all, vectors...)
	}
	return all, nil
}

// cut cuts text to n bytes, at a rune boundary. It replaces an empty text, which servers refuse, by a space.
func cut(text string, n int) string {
	if len(text) > n {
		for n > 0 && !utf8.RuneStart(text[n]) {
			n--
		}
		text = text[:n]
	}
	return cmp.Or(text, " ")
}

// ask sends a batch. It retries after transient failures.
func (r *remote) ask(ctx context.Context, batch []string) ([][]float32, error) {
	wait := 500 * time.Millisecond
	for try := 0; ; try++ {
		vectors, after, err := r.once(ctx, batch)
		if err == nil || after < 0 || try == r.options.Retries || ctx.Err() != nil {
			return vectors, err
		}
		pause := max(after, wait/2+rand.N(wait))
		wait *= 2
		if !periodic.Sleep(ctx, min(pause, maxPause)) {
			return nil, ctx.Err()
		}
	}
}

const (
	// maxPause bounds how long a server can make us wait between two attempts.
	maxPause = 30 * time.Second
	// maxAnswer bounds how many bytes of an answer are read.
	maxAnswer = 64 << 20
)

// once sends a batch. After an error, after is how long the server wants us to wait, or negative if a retry is useless.
func (r *remote) once(ctx context.Context, batch []string) (vectors [][]float32, after time.Duration, err error) {
	body := map[string]any{"model": r.options.Model, "input": batch}
	if r.options.API == "openai" {
		body["encoding_format"] = "float"
		if r.options.SendDim {
			body["dimensions"] = r.options.Dim
		}
	}
	data, err := json.Marshal(body)
	if err != nil {
		return nil, -1, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url, bytes.NewReader(data))
	if err != nil {
		return nil, -1, err
	}
	request.Header.Set("Content-Type", "application/json")
	if r.key != "" {
		request.Header.Set("Authorization", "Bearer "+r.key)
	}
	response, err := r.client.Do(request)
	if err != nil {
		return nil, 0, err
	}
	defer response.Body.Close()
	data, err = io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return nil, 0, err
	}
	if response.StatusCode != http.StatusOK {
		err := fmt.Errorf("%s: %s", response.Status, strings.TrimSpace(cut(string(data), 200)))
		if response.StatusCode == http.StatusTooManyRequests || response.StatusCode >= 500 {
			seconds, _ := strconv.Atoi(response.Header.Get("Retry-After")) // a date, which is rare, counts as no wait
			return nil, time.Duration(max(0, seconds)) * time.Second, err
		}
		return nil, -1, err
	}
	vectors, err = r.parse(data, len(batch))
	return vectors, -1, err
}

// parse returns the n vectors in an answer of either API.
func (r *remote) parse(data []byte, n int) ([][]float32, error) {
	var answer struct {
		Data []struct {
			Index     int       `json:"index"`
			Embedding []float32 `json:"embedding"`
		} `json:"data"`
		Embeddings [][]float32 `json:"embeddings"`
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return nil, fmt.Errorf("answer: %w", err)
	}
	vectors := answer.Embeddings
	if r.options.API == "openai" {
		vectors = make([][]float32, n)
		for _, d := range answer.Data {
			if d.Index < 0 || d.Index >= n {
				return nil, fmt.Errorf("answer: index %d of %d", d.Index, n)
			}
			vectors[d.Index] = d.Embedding
		}
	}
	if len(vectors) != n {
		return nil, fmt.Errorf("answer: %d vectors for %d texts", len(vectors), n)
	}
	for _, v := range vectors {
		if len(v) != r.options.Dim {
			return nil, fmt.Errorf("answer: a vector of %d numbers, not %d", len(v), r.options.Dim)
		}
	}
	return vectors, nil
}
