package main

import (
	"io"
	"maps"

	"callgate/internal/hosthooks"
)

// hostFolders writes a Claude Code plugin and a Gemini CLI extension with the hooks that "callgate connect" would
// install, for people who manage their hosts with such folders. The hooks need callgate on the PATH.
func hostFolders(r *release) error {
	manifest := map[string]any{"name": "callgate", "version": r.version, "description": description}
	with := map[string]any{"author": map[string]string{"name": "callgate"}, "homepage": "https://" + address, "license": "Apache-2.0"}
	maps.Copy(with, manifest)
	marketplace := map[string]any{
		"name": "callgate", "description": description, "owner": map[string]string{"name": "callgate"},
		"plugins": []any{map[string]any{"name": "callgate", "source": "./", "description": description, "version": r.version}},
	}
	for _, f := range []struct {
		host, name string
		files      map[string]any
	}{
		{"claude", "callgate-claude-plugin.zip", map[string]any{".claude-plugin/plugin.json": with, ".claude-plugin/marketplace.json": marketplace}},
		{"gemini", "callgate-gemini-extension.zip", map[string]any{"gemini-extension.json": manifest}},
	} {
		hooks, err := hosthooks.Bundled(f.host)
		if err != nil {
			return err
		}
		f.files["hooks/hooks.json"] = hooks
		var entries []entry
		for _, name := range []string{".claude-plugin/plugin.json", ".claude-plugin/marketplace.json", "gemini-extension.json", "hooks/hooks.json"} {
			if f.files[name] == nil {
				continue
			}
			text, err := toJSON(f.files[name])
			if err != nil {
				return err
			}
			entries = append(entries, entry{name: name, text: text, mode: 0o644})
		}
		if err := r.add(f.name, func(w io.Writer) error { return writeZip(w, r.time, entries) }); err != nil {
			return err
		}
	}
	return nil
}
