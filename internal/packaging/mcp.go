package main

import (
	"io"
	"slices"
	"strings"
)

// registryName returns callgate's name in the MCP registry, which names accounts by their reversed host.
func registryName() string {
	host, _, _ := strings.Cut(address, "/")
	parts := strings.Split(host, ".")
	slices.Reverse(parts)
	if host == "github.com" {
		parts = []string{"io", "github"}
	}
	return strings.Join(parts, ".") + "." + owner() + "/callgate"
}

func bundleName(r *release, platform string) string {
	return "callgate-" + r.version + "-" + platform + ".mcpb"
}

// bundles writes an MCP bundle for each system: hosts install it with a click and ask for the file of servers.
func bundles(r *release) error {
	mac, err := r.mac()
	if err != nil {
		return err
	}
	programs := map[string]entry{"darwin": {name: "server/callgate", text: mac, mode: 0o755}}
	for _, b := range r.builds {
		if b.os != "darwin" && b.arch == "amd64" {
			programs[strings.TrimSuffix(b.name(), "-x64")] = entry{name: "server/" + b.program(), path: b.path, mode: 0o755}
		}
	}
	for platform, program := range programs {
		manifest, err := toJSON(map[string]any{
			"manifest_version": "0.3", "name": "callgate", "display_name": "callgate", "version": r.version, "description": description, "license": "Apache-2.0",
			"author": map[string]string{"name": "callgate", "url": "https://" + address}, "homepage": "https://" + address,
			"repository": map[string]string{"type": "git", "url": "https://" + address + ".git"},
			"server": map[string]any{
				"type": "binary", "entry_point": program.name,
				"mcp_config": map[string]any{"command": "${__dirname}/" + program.name, "args": []string{"run", "--mcp-config", "${user_config.servers}"}},
			},
			"tools_generated": true, "compatibility": map[string]any{"platforms": []string{platform}},
			"user_config": map[string]any{"servers": map[string]any{
				"type": "file", "title": "MCP servers", "description": "A JSON file with mcpServers: the servers that callgate stands in front of", "required": true,
			}},
		})
		if err != nil {
			return err
		}
		err = r.add(bundleName(r, platform), func(w io.Writer) error {
			return writeZip(w, r.time, []entry{{name: "manifest.json", text: manifest, mode: 0o644}, program})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// serverJSON writes the entry for the MCP registry.
func serverJSON(r *release) error {
	stdio := map[string]string{"type": "stdio"}
	run := []any{
		map[string]any{"type": "positional", "value": "run"},
		map[string]any{"type": "named", "name": "--mcp-config", "format": "filepath", "description": "A JSON file with mcpServers: the servers that callgate stands in front of", "isRequired": true},
	}
	packages := []any{map[string]any{"registryType": "npm", "identifier": "callgate", "version": r.version, "runtimeHint": "npx", "transport": stdio, "packageArguments": run}}
	for _, platform := range []string{"darwin", "linux", "win32"} {
		name := bundleName(r, platform)
		if sum, ok := r.sums[name]; ok {
			packages = append(packages, map[string]any{"registryType": "mcpb", "identifier": r.url(name), "version": r.version, "fileSha256": sum, "transport": stdio})
		}
	}
	return r.addJSON("server.json", map[string]any{
		"$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json", "name": registryName(), "title": "callgate",
		"description": description, "version": r.version, "websiteUrl": "https://" + address, "repository": map[string]string{"url": "https://" + address, "source": "github"}, "packages": packages,
	})
}
