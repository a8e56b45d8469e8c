//go:build !nonats

package app

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"callgate/audit"
	"callgate/gate"
	"callgate/internal/cluster"
	"callgate/internal/config"
)

// If no callgate answers, a command says that nothing is frozen only if that is certain.
func TestFrozenWhereNobodyAnswers(t *testing.T) {
	key := strings.Repeat("k", 43)
	keyFile := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(keyFile, []byte(key), 0o600); err != nil {
		t.Fatal(err)
	}
	alone := &config.Config{DataDir: t.TempDir(), Worker: config.DefaultWorker}
	member := *alone
	member.Cluster.URL, member.Cluster.Key = cluster.Embedded, keyFile
	record := func(string) error { return nil }
	frozen := func(what string, c *config.Config, known bool, want ...string) {
		t.Helper()
		found := Frozen(t.Context(), c)
		var reasons []string
		for _, one := range found.List {
			reasons = append(reasons, one.Reason)
		}
		if (found.Unknown == nil) != known || strings.Join(reasons, " ") != strings.Join(want, " ") {
			t.Errorf("%s: frozen by %q, unknown: %v", what, reasons, found.Unknown)
		}
	}

	frozen("no cluster", alone, true)
	frozen("a cluster that is away", &member, false)

	secret, err := cluster.ParseKey(key)
	if err != nil {
		t.Fatal(err)
	}
	one, err := cluster.Open(cluster.Options{
		URL: cluster.Embedded, Name: "one", Worker: alone.Worker, DataDir: alone.DataDir, Key: secret, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer one.Close()
	if err := one.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	frozen("the cluster's, of which nothing is frozen", &member, true)
	elsewhere := OpenFreezer(t.TempDir()).Share(sharedText{one.Document(documentFreeze), "another replica"})
	if err := elsewhere.Freeze(gate.Freeze{SessionID: "s-ABCDEFGHIJKL", Reason: "there", By: "x", At: time.Now()}, record); err != nil {
		t.Fatal(err)
	}
	frozen("the cluster's", &member, true, "there")
	frozen("a replica's, for a configuration without a cluster", alone, false)
	if err := (DirFreezer{alone.DataDir}).Freeze(gate.Freeze{Reason: "here"}, audit.Author{By: "x"}); err != nil {
		t.Fatal(err)
	}
	if list := Frozen(t.Context(), &member).List; len(list) != 2 || !list[0].Here || list[1].Here {
		t.Errorf("both: %+v", list)
	}
	one.Close()
	frozen("what the file has, where the cluster is away", &member, false, "here")
}
