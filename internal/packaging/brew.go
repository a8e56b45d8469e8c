package main

import (
	_ "embed"
	"fmt"
	"io"
	"text/template"
)

//go:embed formula.rb
var formulaText string

// formula writes the Homebrew formula.
func formula(r *release) error {
	t, err := template.New("formula").Option("missingkey=error").Funcs(template.FuncMap{
		"archive": func(os, arch string) (string, error) {
			name := fmt.Sprintf("callgate_%s_%s_%s.tar.gz", r.version, os, arch)
			sum, ok := r.sums[name]
			if !ok {
				return "", fmt.Errorf("%s was not built", name)
			}
			return fmt.Sprintf("url %q\n      sha256 %q", r.url(name), sum), nil
		},
	}).Parse(formulaText)
	if err != nil {
		return err
	}
	return r.add("callgate.rb", func(w io.Writer) error {
		return t.Execute(w, map[string]string{"Address": address, "Version": r.version})
	})
}
