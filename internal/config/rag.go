package config

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"time"

	"callgate/rag"
)

// ragConfig says what is searched, and how.
type ragConfig struct {
	Enabled     bool     // offer the host search and a knowledge base
	Watch       bool     // follow changes while a host is connected
	Roots       []string // folders to search; empty means the host's roots, or the current directory
	KB          string   // worker or session
	MaxFileSize int      // MiB
	MaxFiles    int
	MaxMemory   int // MiB
	MaxTime     time.Duration
	Embedder    embedderConfig
}

// embedderConfig says what computes the vectors.
type embedderConfig struct {
	Kind           string // static, openai or ollama
	URL            string
	Model          string
	Dimension      int
	SendDimension  bool
	KeyEnv         string
	Batch          int
	Timeout        time.Duration
	Retries        int
	DocumentPrefix string
	QueryPrefix    string
}

// Values of rag.kb.
const (
	KBOfWorker  = "worker"
	KBOfSession = "session"
)

// EmbedderStatic is the embedder that is built in: a table of vectors.
const EmbedderStatic = "static"

// searchSettings are the settings of subcommands that index and search.
var searchSettings = []setting{
	{"rag.enabled", "rag", "offer tools to search the workspace and keep a knowledge base", false},
	{"rag.watch", "rag-watch", "keep the index up to date while a host is connected", true},
	{"rag.roots", "root", "`folder` to search; repeatable (default: the host's roots, or the current directory)", []string{}},
	{"rag.kb", "rag-kb", "where to keep knowledge bases: worker (on disk, for all sessions) or session (in memory, until it ends)", KBOfWorker},
	{"rag.maxFileSize", "index-max-file-size", "largest file to index, in `MiB`", 2},
	{"rag.maxFiles", "index-max-files", "most `files` in an index", 200_000},
	{"rag.maxMemory", "index-max-memory", "`MiB` of memory for an index, about half of it while it is written", 1024},
	{"rag.maxTime", "index-max-time", "how long indexing may take before it stops and continues the next time; 0s: no limit", time.Duration(0)},
	{"rag.embedder.kind", "embedder", "what computes vectors: static (a table in callgate), openai (or compatible) or ollama, which get your texts", EmbedderStatic},
	{"rag.embedder.url", "embedder-url", "base `URL` of the embedder (default: OpenAI's, or Ollama on this machine)", ""},
	{"rag.embedder.model", "embedder-model", "the embedder's `model`", ""},
	{"rag.embedder.dimension", "embedder-dim", "`numbers` in each of the model's vectors", 0},
	{"rag.embedder.sendDimension", "embedder-send-dim", "ask the embedder for vectors of --embedder-dim, if its model can shorten them", false},
	{"rag.embedder.keyEnv", "embedder-key-env", "environment `variable` that holds the embedder's key", ""},
	{"rag.embedder.batch", "embedder-batch", "`texts` in a request", 64},
	{"rag.embedder.timeout", "embedder-timeout", "how long a request may take", 30 * time.Second},
	{"rag.embedder.retries", "embedder-retries", "how often to retry a request that failed temporarily", 3},
	{"rag.embedder.documentPrefix", "embedder-document-prefix", "`text` before every passage", ""},
	{"rag.embedder.queryPrefix", "embedder-query-prefix", "`text` before every query", ""},
}

// check checks what can be checked without opening anything.
func (r *ragConfig) check() error {
	if r.KB != KBOfWorker && r.KB != KBOfSession {
		return fmt.Errorf("kb %q: use worker or session", r.KB)
	}
	for name, n := range map[string]int{"maxFileSize": r.MaxFileSize, "maxFiles": r.MaxFiles, "maxMemory": r.MaxMemory, "embedder.batch": r.Embedder.Batch} {
		if n < 1 {
			return fmt.Errorf("%s: %d: use a positive number", name, n)
		}
	}
	if r.MaxTime < 0 || r.Embedder.Retries < 0 {
		return errors.New("maxTime and embedder.retries cannot be negative")
	}
	if r.Embedder.Timeout <= 0 {
		return fmt.Errorf("embedder.timeout: %s: use a positive duration such as 30s", r.Embedder.Timeout)
	}
	roots := slices.Clone(r.Roots) // a copy, because tenants share them
	for i, root := range roots {
		path, err := filepath.Abs(ExpandHome(root))
		if err != nil {
			return fmt.Errorf("roots[%d]: %w", i, err)
		}
		roots[i] = path
	}
	r.Roots = roots
	_, err := r.Embedder.open(false)
	return err
}

// open returns the embedder, or nil for the built-in one: its table takes time and memory, so the index that needs it
// reads it. It looks up a key only with withKey, so that subcommands that embed nothing need no key.
func (e *embedderConfig) open(withKey bool) (rag.Embedder, error) {
	if e.Kind == EmbedderStatic || e.Kind == "" {
		return nil, nil
	}
	if e.Kind != "openai" && e.Kind != "ollama" {
		return nil, fmt.Errorf("embedder.kind %q: use static, openai or ollama", e.Kind)
	}
	o := rag.RemoteOptions{
		API: e.Kind, URL: e.URL, Model: e.Model, Dim: e.Dimension, SendDim: e.SendDimension, KeyEnv: e.KeyEnv, Batch: e.Batch, Timeout: e.Timeout,
		Retries: cmp.Or(e.Retries, -1), DocumentPrefix: e.DocumentPrefix, QueryPrefix: e.QueryPrefix,
	}
	if !withKey {
		o.KeyEnv = ""
	}
	return rag.NewRemote(o)
}

// Options returns the options of an index in which nothing is denied to anybody.
func (r *ragConfig) Options(log *slog.Logger) (rag.Options, error) {
	embedder, err := r.Embedder.open(true)
	if err != nil {
		return rag.Options{}, fmt.Errorf("configuration: rag: %w", err)
	}
	return rag.Options{
		Embedder: embedder, MaxFileSize: int64(r.MaxFileSize) << 20, MaxFiles: r.MaxFiles, MaxMemory: int64(r.MaxMemory) << 20,
		MaxTime: r.MaxTime, Logger: log,
	}, nil
}

// KbFolder returns the folder of the worker's knowledge base, or "" if every session has a separate one.
func (c *Config) KbFolder() string {
	if c.RAG.KB != KBOfWorker {
		return ""
	}
	return filepath.Join(c.DataDir, "workers", c.Worker, "kb")
}
