// Command callgate gates every tool call between an LLM host and its MCP servers.
package main

import (
	"os"

	"callgate/internal/command"
)

func main() { os.Exit(command.Main()) }
