package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"github.com/adrg/xdg"
	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"callgate/internal/tools"
	"callgate/permissions"
	"callgate/rag"
)

func newIndexCommand(dataDir func() (string, error)) *cobra.Command {
	var (
		watch, asJSON, verbose bool
		embedder               rag.RemoteOptions
	)
	cmd := &cobra.Command{
		Use:   "index [PATH]",
		Short: "Index a workspace for search, or bring its index up to date",
		Long: `Index reads the text files below PATH, the current directory by default, and makes them searchable by words,
meaning and symbols. Only what changed since the last time is read. .gitignore and .callgateignore are honoured,
and a file that the rules keep from read_file is never read.

The index lies in the data directory and serves all processes on the machine. Nothing leaves the machine, unless
--embedder names a server that makes the vectors.`,
		Example: `  callgate index
  callgate index ~/src/app --watch`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			debug.SetGCPercent(indexGCPercent)
			root := "."
			if len(args) == 1 {
				root = args[0]
			}
			index, err := openIndex(cmd, dataDir, root, &embedder)
			if err != nil {
				return err
			}
			p := newIndexProgress(cmd.OutOrStdout(), cmd.ErrOrStderr(), asJSON, verbose)
			if watch {
				err = index.Watch(cmd.Context(), root, p.event)
			} else {
				_, err = index.Sync(cmd.Context(), root, p.event)
			}
			return errors.Join(err, p.close(), index.Close())
		},
	}
	cmd.Flags().BoolVar(&watch, "watch", false, "stay and follow changes until interrupted")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print events as lines of JSON")
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "name every file that is left out, and why")
	addEmbedderFlags(cmd.Flags(), &embedder)
	return cmd
}

// indexGCPercent trades a little time for a third of the memory: indexing allocates far more than it keeps.
const indexGCPercent = 50

// addEmbedderFlags adds the flags that choose who makes the vectors.
func addEmbedderFlags(flags *pflag.FlagSet, o *rag.RemoteOptions) {
	flags.StringVar(&o.API, "embedder", "", "server that makes the vectors: openai (or compatible) or ollama; default: none, a table in callgate")
	flags.StringVar(&o.URL, "embedder-url", "", "its base `URL`")
	flags.StringVar(&o.Model, "embedder-model", "", "its model")
	flags.IntVar(&o.Dim, "embedder-dim", 0, "numbers in a vector of the model")
	flags.StringVar(&o.KeyEnv, "embedder-key-env", "", "environment `variable` that holds its key")
	flags.StringVar(&o.DocumentPrefix, "embedder-document-prefix", "", "`text` before every passage")
	flags.StringVar(&o.QueryPrefix, "embedder-query-prefix", "", "`text` before every query")
}

// openIndex opens the index of the workspace root under the worker's rules.
func openIndex(cmd *cobra.Command, dataDir func() (string, error), root string, embedder *rag.RemoteOptions) (*rag.Index, error) {
	data, err := dataDir()
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(root); err == nil && !info.IsDir() {
		return rag.Open("", rag.Options{}) // Sync says what is wrong with a file
	}
	dir, err := rag.Dir(data, root)
	if err != nil {
		return nil, err
	}
	worker := "default"
	if f := cmd.Flag("worker"); f != nil {
		worker = cmp.Or(f.Value.String(), worker)
	}
	denied, err := deniedFiles(data, worker, root)
	if err != nil {
		return nil, err
	}
	o := rag.Options{Denied: denied, Logger: slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), nil))}
	if embedder.API != "" {
		if o.Embedder, err = rag.NewRemote(*embedder); err != nil {
			return nil, err
		}
	}
	return rag.Open(dir, o)
}

// deniedFiles returns what the rules say of reading files: whatever a rule would deny read_file, by its absolute
// path or by its path in the workspace, and callgate's own files. Rules that cannot be read are an error.
func deniedFiles(dataDir, worker, root string) (func(path string) bool, error) {
	store := permissions.OpenStore(filepath.Join(dataDir, "workers", worker, "permissions.jsonc"), permissions.StoreOptions{Home: xdg.Home})
	if _, err := store.Policy(); err != nil {
		return nil, err
	}
	own, err := realPath(dataDir)
	if err != nil {
		return nil, err
	}
	if root, err = realPath(root); err != nil {
		return nil, err
	}
	return func(path string) bool {
		if path == own || strings.HasPrefix(path, own+string(filepath.Separator)) {
			return true
		}
		policy, err := store.Policy()
		if err != nil {
			return true
		}
		subject := permissions.Subject{Tool: "read_file", Kind: "read_file", KindBound: true, Value: path, DeniesOnly: true}
		slashed := filepath.ToSlash(path)
		subject.Decides = permissions.Form{slashed}
		if rel, err := filepath.Rel(root, path); err == nil && filepath.IsLocal(rel) {
			subject.Also = []permissions.Form{{filepath.ToSlash(rel)}}
		}
		return permissions.Evaluate(policy, permissions.Context{Now: time.Now()}, &subject).Action == permissions.Deny
	}, nil
}

// realPath returns the absolute path without links, of what exists of it.
func realPath(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real, nil
	}
	return path, nil
}

// indexProgress shows how far an index is: a bar on a terminal, and what came of it.
type indexProgress struct {
	out, err      io.Writer
	json, verbose bool
	terminal      bool
	drawn         time.Time
	skipped       map[string]int // by reason
	failed        error
}

func newIndexProgress(out, errOut io.Writer, asJSON, verbose bool) *indexProgress {
	f, ok := errOut.(*os.File)
	return &indexProgress{
		out: out, err: errOut, json: asJSON, verbose: verbose, skipped: map[string]int{},
		terminal: ok && term.IsTerminal(int(f.Fd())) && !asJSON,
	}
}

func (p *indexProgress) event(e rag.Event) {
	if p.json {
		p.write(e)
		return
	}
	switch e.Kind {
	case rag.EventStart:
		clear(p.skipped)
	case rag.EventSkip:
		if p.verbose {
			fmt.Fprintf(p.err, "%s: %s\n", tools.Visible(e.Path), tools.Visible(e.Reason))
		}
		p.skipped[e.Reason]++
	case rag.EventProgress:
		if p.terminal && time.Since(p.drawn) > 50*time.Millisecond {
			p.drawn = time.Now()
			fmt.Fprintf(p.err, "\r\x1b[K%s %d/%d %s", bar(e.Indexed, e.Total), e.Indexed, e.Total, tools.Visible(shorten(e.Path, 50)))
		}
	case rag.EventDone:
		if p.terminal {
			fmt.Fprint(p.err, "\r\x1b[K")
		}
		s := e.Summary
		fmt.Fprintf(p.out, "%s: %s, %s; %s changed, %s removed in %s\n", tools.Visible(e.Path), count(s.Files, "file"), count(s.Chunks, "chunk"),
			count(s.Changed, "file"), count(s.Removed, "file"), s.Duration.Round(time.Millisecond))
		p.sayUnsupported()
	}
}

// write prints the event as the side protocol names it.
func (p *indexProgress) write(e rag.Event) {
	line := map[string]any{"type": "index_" + string(e.Kind), "path": e.Path}
	switch e.Kind {
	case rag.EventStart:
		line["totalFiles"] = e.Total
	case rag.EventProgress:
		line = map[string]any{"type": "index_progress", "indexedFiles": e.Indexed, "totalFiles": e.Total, "currentFile": e.Path}
	case rag.EventSkip:
		line["reason"] = e.Reason
	case rag.EventDone:
		line["fileCount"], line["chunkCount"], line["duration"] = e.Summary.Files, e.Summary.Chunks, e.Summary.Duration.Seconds()
	}
	data, err := json.Marshal(line, json.Deterministic(true))
	if err == nil {
		_, err = fmt.Fprintf(p.out, "%s\n", data)
	}
	p.failed = cmp.Or(p.failed, err)
}

// sayUnsupported names formats that are left out although people may expect them to be read.
func (p *indexProgress) sayUnsupported() {
	for reason, n := range p.skipped {
		if strings.HasPrefix(reason, "PDF") {
			fmt.Fprintf(p.err, "left out %s: %s\n", count(n, "file"), reason)
		}
	}
}

func (p *indexProgress) close() error {
	if p.terminal {
		fmt.Fprint(p.err, "\r\x1b[K")
	}
	return p.failed
}

// bar is a progress bar.
func bar(done, total int) string {
	const width = 24
	n := width * done / max(1, total)
	return "[" + strings.Repeat("#", min(n, width)) + strings.Repeat(".", width-min(n, width)) + "]"
}
