// Crowd is an MCP server on standard input and output. Its two hundred tools differ in their descriptions, for tests
// that have to find one among many.
package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// Every action applies to every thing: 10 × 20 tools.
var (
	actions = [][2]string{
		{"create", "Create a new %s"}, {"delete", "Delete a %s for good"}, {"rename", "Give a %s another name"},
		{"archive", "Put a %s away without deleting it"}, {"share", "Let other people see a %s"}, {"lock", "Keep a %s from being changed"},
		{"export", "Write a %s to a file that other programs read"}, {"restore", "Bring back a %s that was deleted"},
		{"count", "Say how many of it there are: %s"}, {"audit", "Show who changed a %s, and when"},
	}
	things = [][2]string{
		{"invoice", "bill that a customer has to pay"}, {"shipment", "parcel on its way to a customer"}, {"calendar", "calendar with appointments"},
		{"playlist", "list of songs"}, {"recipe", "instructions for cooking a dish"}, {"ticket", "report of a problem by a user"},
		{"vehicle", "car or lorry of the fleet"}, {"greenhouse", "greenhouse with its plants and its climate"}, {"telescope", "telescope and its observation plan"},
		{"passport", "travel document"}, {"certificate", "TLS certificate of a host"}, {"firewall", "set of network filter rules"},
		{"snapshot", "copy of a disk at a moment"}, {"budget", "plan of money to spend"}, {"survey", "list of questions to customers"},
		{"translation", "text in another language"}, {"contract", "agreement with a supplier"}, {"lecture", "lecture with slides and a recording"},
		{"vaccination", "dose that a patient was given"}, {"apartment", "flat that is for rent"},
	}
)

func main() {
	s := server.NewMCPServer("crowd", "1.0", server.WithToolCapabilities(false))
	for _, action := range actions {
		for _, thing := range things {
			name := action[0] + "_" + thing[0]
			s.AddTool(mcp.NewTool(name,
				mcp.WithDescription(fmt.Sprintf(action[1], thing[0])+": a "+thing[1]+"."),
				mcp.WithString("id", mcp.Description("Which "+thing[0])),
			), func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return mcp.NewToolResultText(strings.TrimSpace(name + " " + r.GetString("id", ""))), nil
			})
		}
	}
	if err := server.ServeStdio(s); err != nil {
		fmt.Fprintln(os.Stderr, "crowd:", err)
		os.Exit(1)
	}
}
