package unraced

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestConcurrent(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{
		"a_test.go": `package p
func TestPlain(t *testing.T)    { judge(t) }
func TestStarts(t *testing.T)   { go judge(t) }
func TestGroup(t *testing.T)    { var all sync.WaitGroup; all.Go(func() { judge(t) }) }
func TestParallel(t *testing.T) { t.Run("", func(t *testing.T) { t.Parallel() }) }
func TestThrough(t *testing.T)  { bench{}.decide() }
func judge(t *testing.T)        {}`,
		"b_test.go": `package p
func (bench) decide()    { <-asked() }
func asked() chan string { c := make(chan string); go send(c); return c }`,
		"p.go": `package p
func judge() { go judge() }`,
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := concurrent(folder)
	if want := []string{"TestGroup", "TestParallel", "TestStarts", "TestThrough"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
}
