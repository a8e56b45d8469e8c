package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"fmt"
	"strings"
	"time"
)

// boms writes a bill of materials (CycloneDX 1.6) for each binary: the modules that its build information lists.
func boms(r *release) error {
	for _, b := range r.builds {
		info, err := buildinfo.ReadFile(b.path)
		if err != nil {
			return err
		}
		components, refs := []any{}, []string{}
		add := func(path, version string) {
			purl := "pkg:golang/" + path + "@" + version
			refs = append(refs, purl)
			components = append(components, map[string]any{"type": "library", "bom-ref": purl, "name": path, "version": version, "purl": purl})
		}
		add("std", strings.TrimPrefix(info.GoVersion, "go"))
		for _, m := range info.Deps {
			if m.Path == "callgate" { // a build with OPA has callgate as a dependency
				continue
			}
			if m.Replace != nil {
				m = m.Replace
			}
			add(m.Path, m.Version)
		}
		self := "pkg:golang/" + address + "@" + r.version
		serial := sha256.Sum256([]byte(b.name() + strings.Join(refs, "\n") + self))
		serial[6], serial[8] = serial[6]&0x0f|0x80, serial[8]&0x3f|0x80 // a UUID of version 8
		err = r.addJSON(fmt.Sprintf("callgate_%s_%s_%s.cdx.json", r.version, b.os, b.arch), map[string]any{
			"$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json", "bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1,
			"serialNumber": fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", serial[:4], serial[4:6], serial[6:8], serial[8:10], serial[10:16]),
			"metadata": map[string]any{
				"timestamp": r.time.Format(time.RFC3339),
				"component": map[string]any{"type": "application", "bom-ref": self, "name": "callgate", "version": r.version, "purl": self, "licenses": []any{map[string]any{"license": map[string]any{"id": "Apache-2.0"}}}},
			},
			"components": components, "dependencies": []any{map[string]any{"ref": self, "dependsOn": refs}},
		})
		if err != nil {
			return err
		}
	}
	return nil
}
