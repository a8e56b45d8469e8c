// Bench measures callgate's search: how well it finds, how fast, and with how much memory.
//
// It also measures ripgrep, if installed, and plain bleve. See README.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"callgate/rag"
)

func main() {
	repos := flag.String("repos", "", "directory with the repositories of the development benchmark; empty: skip it")
	bench := flag.String("bench", "internal/dev/ragbench/testdata", "directory with its queries and labels")
	child := flag.String("index", "", "index the directory given as argument into this one, report, and wait: used by bench itself")
	flag.Parse()
	var err error
	if *child != "" {
		err = indexAndWait(*child, flag.Arg(0))
	} else {
		err = run(context.Background(), *repos, *bench)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, repos, bench string) error {
	goroot, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return fmt.Errorf("go env GOROOT: %w", err)
	}
	src := filepath.Join(strings.TrimSpace(string(goroot)), "src")
	fmt.Printf("%s %s/%s, %d CPUs\n\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	if err := resources(ctx, src); err != nil {
		return err
	}
	if err := standard(ctx, src); err != nil {
		return err
	}
	return development(ctx, repos, bench)
}

// standard runs the benchmark over the Go standard library: from comment to function.
func standard(ctx context.Context, src string) error {
	functions, files, err := standardLibrary(src)
	if err != nil {
		return err
	}
	asked := ask(functions)
	fmt.Printf("Go standard library, %d functions, %d queries: the first sentence of a function's comment\n", len(functions), len(asked))
	t := newTable()

	index, err := rag.Open("", rag.Options{})
	if err != nil {
		return err
	}
	defer index.Close()
	var docs []rag.Document
	var passages []rag.Hit
	for _, f := range functions {
		docs = append(docs, rag.Document{ID: f.id, Kind: rag.KindCode, Language: "go", Text: f.body})
		passages = append(passages, rag.Hit{Path: f.id, Text: f.body})
	}
	if err := index.Add(ctx, docs...); err != nil {
		return err
	}
	if err := t.row(ctx, "functions: callgate", ours{index: index}, byFunction(asked)); err != nil {
		return err
	}
	bleve, err := newPlain(passages)
	if err != nil {
		return err
	}
	if err := t.row(ctx, "functions: plain bleve", bleve, byFunction(asked)); err != nil {
		return err
	}

	dir, err := os.MkdirTemp("", "callgate-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := writeTree(dir, files); err != nil {
		return err
	}
	return errors.Join(workspace(ctx, t, "files", dir, byLines(asked)), t.print())
}

// workspace indexes dir and adds a row for each engine.
func workspace(ctx context.Context, t *table, name, dir string, judged []rag.Judged) error {
	engines, done, err := enginesFor(ctx, dir)
	if err != nil {
		return err
	}
	for i, kind := range []string{"callgate", "plain bleve", "ripgrep"} {
		if err := t.row(ctx, name+": "+kind, engines[i], judged); err != nil {
			return errors.Join(err, done())
		}
	}
	return done()
}

// enginesFor prepares all engines to search in dir: callgate, plain bleve and ripgrep.
func enginesFor(ctx context.Context, dir string) (engines []engine, done func() error, err error) {
	index, err := rag.Open("", rag.Options{})
	if err != nil {
		return nil, nil, err
	}
	if _, err := index.Sync(ctx, dir, nil); err != nil {
		return nil, nil, errors.Join(err, index.Close())
	}
	passages, err := windows(dir)
	if err != nil {
		return nil, nil, errors.Join(err, index.Close())
	}
	bleve, err := newPlain(passages)
	if err != nil {
		return nil, nil, errors.Join(err, index.Close())
	}
	done = func() error { return errors.Join(index.Close(), bleve.index.Close()) }
	return []engine{ours{index}, bleve, ripgrep{dir}}, done, nil
}

// elapsed formats a duration for people.
func elapsed(d time.Duration) string { return d.Round(10 * time.Microsecond).String() }
