package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"callgate/rag"
)

// repository is a repository of the development benchmark, at a pinned revision.
type repository struct {
	Name     string `json:"name"`
	URL      string `json:"url"`
	Revision string `json:"revision"`
	Root     string `json:"benchmark_root"` // the part that is indexed
}

// development runs the benchmark over public repositories. {repos}/{name} is a checkout at its revision.
func development(ctx context.Context, repos, bench string) error {
	if repos == "" {
		fmt.Println("development benchmark: skipped, -repos is not set")
		return nil
	}
	list, judged, err := readDevelopment(bench)
	if err != nil {
		return err
	}
	names := []string{"callgate", "plain bleve", "ripgrep", "callgate, whole repository"}
	sums := make([]total, len(names))
	queries := 0
	for _, r := range list {
		dir := filepath.Join(repos, r.Name, filepath.FromSlash(r.Root))
		if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
			fmt.Printf("development benchmark: no %s\n", dir)
			continue
		}
		if err := asUsed(ctx, filepath.Join(repos, r.Name), judged[r.Name], &sums[3]); err != nil {
			return err
		}
		asked := relative(judged[r.Name], r.Root)
		queries += len(asked)
		engines, done, err := enginesFor(ctx, dir)
		if err != nil {
			return err
		}
		for i, e := range engines {
			if err := sums[i].add(ctx, e, asked); err != nil {
				return errors.Join(err, done())
			}
		}
		if err := done(); err != nil {
			return err
		}
	}
	fmt.Printf("Development benchmark, %d queries\n", queries)
	t := newTable()
	for i := range sums {
		t.total(names[i], &sums[i])
	}
	return t.print()
}

// asUsed searches a whole repository, including documents and tests, as models do.
func asUsed(ctx context.Context, dir string, judged []rag.Judged, sum *total) error {
	index, err := rag.Open("", rag.Options{})
	if err != nil {
		return err
	}
	if _, err = index.Sync(ctx, dir, nil); err == nil {
		err = sum.add(ctx, ours{index: index}, judged)
	}
	return errors.Join(err, index.Close())
}

// readDevelopment reads the repositories, and the queries with their labels by repository.
func readDevelopment(dir string) (list []repository, judged map[string][]rag.Judged, err error) {
	data, err := os.ReadFile(filepath.Join(dir, "semble-dev-repos.json"))
	if err != nil {
		return nil, nil, err
	}
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, nil, err
	}
	labels := map[string][]rag.Label{}
	data, err = os.ReadFile(filepath.Join(dir, "semble-dev-qrels.tsv"))
	if err != nil {
		return nil, nil, err
	}
	for line := range strings.Lines(string(data)) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(f) != 5 {
			return nil, nil, fmt.Errorf("label %q: want 5 columns", line)
		}
		l := rag.Label{Path: f[1]}
		if f[2] != "" {
			if l.Start, err = strconv.Atoi(f[2]); err == nil {
				l.End, err = strconv.Atoi(f[3])
			}
			if err != nil {
				return nil, nil, err
			}
		}
		labels[f[0]] = append(labels[f[0]], l)
	}
	data, err = os.ReadFile(filepath.Join(dir, "semble-dev-queries.jsonl"))
	if err != nil {
		return nil, nil, err
	}
	judged = map[string][]rag.Judged{}
	for line := range strings.Lines(string(data)) {
		var q struct{ ID, Repo, Text string }
		if err := json.Unmarshal([]byte(line), &q); err != nil {
			return nil, nil, err
		}
		judged[q.Repo] = append(judged[q.Repo], rag.Judged{ID: q.ID, Query: q.Text, Relevant: labels[q.ID]})
	}
	return list, judged, nil
}

// relative makes the labels' paths relative to root, with which most of them begin.
func relative(judged []rag.Judged, root string) []rag.Judged {
	for i := range judged {
		for j := range judged[i].Relevant {
			l := &judged[i].Relevant[j]
			l.Path = strings.TrimPrefix(l.Path, root+"/")
		}
	}
	return judged
}
