package shellparse

import (
	"fmt"
	"strings"
	"testing"
)

// TestListings checks which data lists the files that a command writes, and where the names lead.
func TestListings(t *testing.T) {
	for text, want := range map[string]string{
		"git apply p.patch":                    "patch /w/p.patch [/w] 1",
		"git apply -p0 a.patch b.patch":        "patch /w/a.patch [/w] 0, patch /w/b.patch [/w] 0",
		"git apply < p.patch":                  "patch /w/p.patch [/w] 1",
		"cd sub && git apply ../p.patch":       "patch /w/p.patch [/w/sub] 1",
		"curl x | git apply":                   "patch  [/w] 1",
		"git apply --check p.patch":            "",
		"git apply --stat --apply p.patch":     "patch /w/p.patch [/w] 1",
		"git am p.mbox":                        "patch /w/p.mbox [/w] 1 top",
		"git am --abort":                       "",
		"git am < p.mbox":                      "patch /w/p.mbox [/w] 1 top",
		"patch -p1 < x.patch":                  "patch /w/x.patch [/w] 1",
		"patch -p1 -i x.patch":                 "patch /w/x.patch [/w] 1",
		"patch -d sub -p1 < x.patch":           "patch /w/x.patch [/w/sub] 1",
		"patch < x.patch":                      "patch /w/x.patch [/w] -1, patch /w/x.patch [/w] 0",
		"patch --dry-run -p1 < x.patch":        "",
		"tar xf x.tar":                         "tar /w/x.tar [/w] 0",
		"tar -xzf x.tgz -C d":                  "tar /w/x.tgz [/w/d] 0",
		"tar -C d -xzf x.tgz":                  "tar /w/x.tgz [/w/d] 0",
		"tar xzf x.tgz --strip-components=1":   "tar /w/x.tgz [/w] 1",
		"tar --extract --file=x.tar":           "tar /w/x.tar [/w] 0",
		"curl x | tar xz":                      "tar  [/w] 0",
		"tar xzOf x.tgz":                       "",
		"tar tzf x.tgz":                        "",
		"tar czf x.tgz src":                    "",
		"bsdtar -xf x.zip":                     "tar /w/x.zip [/w] 0",
		"unzip x.zip":                          "zip /w/x.zip [/w] 0",
		"unzip -q x.zip -d out":                "zip /w/x.zip [/w/out] 0",
		"unzip -j x.zip":                       "zip /w/x.zip [/w] -1",
		"unzip -l x.zip":                       "",
		"git apply <<'E'\n+++ b/x\nE\n":        "patch  [/w] 1 text",
		"printf '+++ b/x\\n' | patch -p1 -d s": "patch  [/w/s] 1",
	} {
		s := Parse(text, Options{Dir: "/w"})
		var got []string
		for _, c := range s.Commands {
			for _, l := range c.Lists {
				one := fmt.Sprintf("%s %s %v %d", l.Format, l.From.Path.Value, l.Dirs, l.Strip)
				if l.Top {
					one += " top"
				}
				if l.Text != "" {
					one += " text"
				}
				got = append(got, one)
			}
		}
		if list := strings.Join(got, ", "); list != want && list != want+" text" {
			t.Errorf("%q: %s, want %s", text, list, want)
		}
	}
}
