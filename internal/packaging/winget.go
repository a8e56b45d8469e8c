package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// winget writes the three manifests of a release for Windows' package manager.
func winget(r *release) error {
	const id, schema = "callgate.callgate", "1.12.0"
	var installers []any
	for _, b := range r.builds {
		if b.os != "windows" {
			continue
		}
		name := fmt.Sprintf("callgate_%s_windows_%s.zip", r.version, b.arch)
		sum, ok := r.sums[name]
		if !ok {
			return fmt.Errorf("%s was not built", name)
		}
		installers = append(installers, map[string]any{
			"Architecture": strings.TrimPrefix(b.name(), "win32-"), "InstallerUrl": r.url(name), "InstallerSha256": sum, "UpgradeBehavior": "uninstallPrevious",
			"NestedInstallerType": "portable", "NestedInstallerFiles": []any{map[string]string{"RelativeFilePath": b.program(), "PortableCommandAlias": "callgate"}},
		})
	}
	for _, m := range []struct {
		kind, suffix string
		more         map[string]any
	}{
		{"version", "", map[string]any{"DefaultLocale": "en-US"}},
		{"installer", ".installer", map[string]any{
			"InstallerLocale": "en-US", "InstallerType": "zip", "ReleaseDate": r.time.Format(time.DateOnly), "Installers": installers,
		}},
		{"defaultLocale", ".locale.en-US", map[string]any{
			"PackageLocale": "en-US", "Publisher": "callgate", "PackageName": "callgate", "Moniker": "callgate", "PackageUrl": "https://" + address,
			"License": "Apache-2.0", "ShortDescription": "Gate every tool call of an LLM host",
		}},
	} {
		m.more["PackageIdentifier"], m.more["PackageVersion"], m.more["ManifestType"], m.more["ManifestVersion"] = id, r.version, m.kind, schema
		text, err := yaml.Marshal(m.more)
		if err != nil {
			return err
		}
		err = r.add(id+m.suffix+".yaml", func(w io.Writer) error {
			_, err := fmt.Fprintf(w, "# yaml-language-server: $schema=https://aka.ms/winget-manifest.%s.%s.schema.json\n%s", m.kind, schema, text)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
