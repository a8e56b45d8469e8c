package rag

import (
	"fmt"
	"strings"
	"testing"
)

// TestDocumentsStandBehindCode checks that code precedes equally good documents, unless the query asks for documents.
func TestDocumentsStandBehindCode(t *testing.T) {
	root := t.TempDir()
	writeFiles(t, root, map[string]string{
		"router/tree.go":  "package router\n\n// addRoute adds a route with its handlers to the tree.\nfunc (t *tree) addRoute(path string, handlers []Handler) {\n\tt.insert(path, handlers)\n}\n",
		"docs/routes.md":  "# Routes\n\nHow to add a route with its handlers to the tree: addRoute adds a route with its handlers to the tree.\n",
		"docs/billing.md": "# Billing\n\nInvoices are sent on the first Tuesday of a month to whoever pays.\n",
	})
	x := open(t, t.TempDir(), Options{})
	syncs(t, x, root)
	for query, want := range map[string]string{
		"add a route with its handlers to the tree":                         "router/tree.go",
		"documentation of how to add a route with its handlers to the tree": "docs/routes.md",
		"when are invoices sent":                                            "docs/billing.md",
	} {
		if got := first(t, x, query); got != want {
			t.Errorf("%q finds %q, want %q", query, got, want)
		}
	}
}

// TestSpread checks that further passages of a file with the answer follow soon, and that scores fall from hit to hit.
func TestSpread(t *testing.T) {
	root := t.TempDir()
	var one strings.Builder
	one.WriteString("package lease\n")
	for i := range 12 {
		fmt.Fprintf(&one, "\n// renewLease%d renews the lease of a tenant before it ends.\nfunc renewLease%d(tenant string) error {\n%s\treturn renew(tenant, %d)\n}\n", i, i, strings.Repeat("\tlease.renew(tenant, before, end)\n", 25), i)
	}
	files := map[string]string{"lease/lease.go": one.String()}
	for i := range 12 {
		files[fmt.Sprintf("other%d/x.go", i)] = fmt.Sprintf("package other\n\n// note%d mentions that a lease has a tenant.\nfunc note%d() {}\n", i, i)
	}
	writeFiles(t, root, files)
	x := open(t, t.TempDir(), Options{})
	syncs(t, x, root)
	hits, err := x.Search(t.Context(), Query{Text: "renews the lease of a tenant before it ends", Limit: 10})
	if err != nil || len(hits) != 10 {
		t.Fatalf("%d hits, %v", len(hits), err)
	}
	of := 0
	for i, h := range hits {
		if h.Path == "lease/lease.go" {
			of++
		}
		if i > 0 && h.Score > hits[i-1].Score {
			t.Errorf("hit %d scores %v after %v", i, h.Score, hits[i-1].Score)
		}
	}
	if of < 5 {
		t.Errorf("%d of 10 hits are of the file that answers", of)
	}
}
