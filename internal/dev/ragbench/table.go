package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"callgate/rag"
)

// table prints one row for each engine.
type table struct{ w *tabwriter.Writer }

func newTable() *table {
	t := &table{tabwriter.NewWriter(os.Stdout, 0, 4, 2, ' ', 0)}
	fmt.Fprintln(t.w, "\tnDCG@10\tMRR\tRecall@5\tlines@10\tin file\tp50\tp95")
	return t
}

func (t *table) print() error {
	fmt.Fprintln(t.w)
	return t.w.Flush()
}

// row asks the engine all queries and prints its scores.
func (t *table) row(ctx context.Context, name string, e engine, judged []rag.Judged) error {
	var sum total
	if err := sum.add(ctx, e, judged); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	t.total(name, &sum)
	return nil
}

func (t *table) total(name string, sum *total) {
	if sum.missing {
		fmt.Fprintf(t.w, "%s\tnot installed\n", name)
		return
	}
	s := sum.score.Mean()
	fmt.Fprintf(t.w, "%s\t%.4f\t%.4f\t%.4f\t%.4f\t%.4f\t%s\t%s\n", name, s.NDCG10, s.MRR, s.Recall5, s.Lines10, s.InFile,
		elapsed(percentile(sum.times, 50)), elapsed(percentile(sum.times, 95)))
}

// total sums up an engine's answers.
type total struct {
	score   rag.Score
	times   []time.Duration
	missing bool // the engine is not installed
}

// add asks the engine all queries, after a first few to warm up.
func (t *total) add(ctx context.Context, e engine, judged []rag.Judged) error {
	for _, j := range judged[:min(20, len(judged))] {
		if _, err := e.search(ctx, j.Query); errors.Is(err, exec.ErrNotFound) {
			t.missing = true
			return nil
		} else if err != nil {
			return err
		}
	}
	for i := range judged {
		start := time.Now()
		hits, err := e.search(ctx, judged[i].Query)
		if err != nil {
			return err
		}
		t.times = append(t.times, time.Since(start))
		t.score.Add(&judged[i], hits)
	}
	return nil
}

func percentile(times []time.Duration, p int) time.Duration {
	if len(times) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(times))
	return sorted[min(len(sorted)-1, len(sorted)*p/100)]
}

// windows cuts the files below dir into passages of equal length, which plain bleve indexes.
func windows(dir string) (passages []rag.Hit, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		lines := strings.SplitAfter(string(data), "\n")
		for from := 0; from < len(lines); from += window {
			to := min(len(lines), from+window)
			passages = append(passages, rag.Hit{Path: filepath.ToSlash(rel), Start: from + 1, End: to, Text: strings.Join(lines[from:to], "")})
		}
		return nil
	})
	return passages, err
}
