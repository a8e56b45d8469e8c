package manual

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// Pages say what help says, and a formatter finds no fault with them.
func TestPagesSayWhatHelpSays(t *testing.T) {
	root := &cobra.Command{Use: "prog", Short: "Does it", RunE: func(*cobra.Command, []string) error { return nil }}
	long := "It reads\n.dotted and 'quoted' lines, back\\slashes and \"words\" …\n\n  kept   as\n  it     is\n\n'begins with a quote"
	sub := &cobra.Command{Use: "sub NAME", Short: "Do \"this\"", Long: long, Example: "  prog sub 'a b' --mode x\n  .hidden", RunE: func(*cobra.Command, []string) error { return nil }}
	sub.Flags().StringP("mode", "m", "ask", "the `word` that decides")
	sub.Flags().Bool("secret", false, "not for people")
	sub.Flags().Lookup("secret").Hidden = true
	root.AddCommand(sub, &cobra.Command{Use: "hidden", Hidden: true, Run: func(*cobra.Command, []string) {}})
	dir := filepath.Join(t.TempDir(), "man1")
	if err := Write(dir, root, "1.2.3"); err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 2 {
		t.Fatalf("%v %v", files, err)
	}
	man, err := exec.LookPath("groff")
	if err != nil {
		t.Skip("groff is not installed")
	}
	out, err := exec.Command(man, "-man", "-Tutf8", "-ww", "-P-cbou", filepath.Join(dir, "prog-sub.1")).CombinedOutput()
	if err != nil || strings.Contains(string(out), "warning") || strings.Contains(string(out), "error") {
		t.Fatalf("%v\n%s", err, out)
	}
	plain := strings.ReplaceAll(string(out), "\u2212", "-")
	for _, want := range []string{"prog-sub - Do \"this\"", ".dotted", `back\slashes`, "kept   as", "words\" …", "'begins with", "-m, --mode word", "(default ask)", "  prog sub 'a b' --mode x", ".hidden", "prog(1)"} {
		if !strings.Contains(plain, want) {
			t.Errorf("%q is missing in\n%s", want, plain)
		}
	}
	if strings.Contains(plain, "secret") {
		t.Error("a hidden flag is shown")
	}
}
