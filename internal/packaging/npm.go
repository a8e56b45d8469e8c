package main

import (
	_ "embed"
	"fmt"
	"io"
	"strings"
)

//go:embed callgate.js
var launcher []byte

// npm writes a package with the binary for each system, and the one that people install, which picks the right one.
func npm(r *release) error {
	optional := map[string]string{}
	for _, b := range r.builds {
		os, cpu, _ := strings.Cut(b.name(), "-")
		name := "callgate-" + b.name()
		optional[name] = r.version
		p := r.npmPackage(name, "callgate for "+b.os+" on "+b.arch)
		p["os"], p["cpu"], p["files"] = []string{os}, []string{cpu}, []string{b.program()}
		if err := r.addNpm(name, p, entry{name: b.program(), path: b.path, mode: 0o755}); err != nil {
			return err
		}
	}
	p := r.npmPackage("callgate", description)
	p["bin"], p["files"], p["optionalDependencies"] = map[string]string{"callgate": "callgate.js"}, []string{"callgate.js"}, optional
	p["mcpName"] = registryName()
	return r.addNpm("callgate", p, entry{name: "callgate.js", text: launcher, mode: 0o755})
}

func (r *release) npmPackage(name, description string) map[string]any {
	return map[string]any{
		"name": name, "version": r.version, "description": description, "license": "Apache-2.0", "homepage": "https://" + address,
		"repository": map[string]string{"type": "git", "url": "git+https://" + address + ".git"}, "engines": map[string]string{"node": ">=18"},
	}
}

func (r *release) addNpm(name string, manifest map[string]any, file entry) error {
	text, err := toJSON(manifest)
	if err != nil {
		return err
	}
	file.name = "package/" + file.name
	return r.add(fmt.Sprintf("npm-%s-%s.tgz", name, r.version), func(w io.Writer) error {
		return writeTarGz(w, r.time, []entry{{name: "package/package.json", text: text, mode: 0o644}, file})
	})
}
