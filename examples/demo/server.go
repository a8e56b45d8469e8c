package main

import (
	"context"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// newServer returns a server with the demo's tools, which work in box.
func newServer(box *sandbox) *server.MCPServer {
	s := server.NewMCPServer("callgate-demo", "1.0.0",
		server.WithToolCapabilities(false),
		server.WithInputSchemaValidation(),
		server.WithRecovery(),
		server.WithInstructions("Files and shell commands of one sandbox folder. Paths are relative to it."))

	path := func(description string, options ...mcp.PropertyOption) mcp.ToolOption {
		return mcp.WithString("path", append(options, mcp.Description(description))...)
	}
	s.AddTool(mcp.NewTool("read_file",
		mcp.WithDescription("Read a text file of the sandbox folder. Files over 1 MiB and binary files are refused."),
		mcp.WithToolAnnotation(reads("Read file")),
		path("File to read, relative to the sandbox folder.", mcp.Required()),
	), handler(box.readFile))
	s.AddTool(mcp.NewTool("write_file",
		mcp.WithDescription("Create a text file or replace its whole content. Missing folders are created."),
		mcp.WithToolAnnotation(changes("Write file", true)),
		path("File to write, relative to the sandbox folder.", mcp.Required()),
		mcp.WithString("content", mcp.Required(), mcp.Description("The new content.")),
	), handler(box.writeFile))
	s.AddTool(mcp.NewTool("edit_file",
		mcp.WithDescription("Replace one passage of a text file. old_text must occur exactly once."),
		mcp.WithToolAnnotation(changes("Edit file", false)),
		path("File to edit, relative to the sandbox folder.", mcp.Required()),
		mcp.WithString("old_text", mcp.Required(), mcp.MinLength(1), mcp.Description("The passage as it stands now.")),
		mcp.WithString("new_text", mcp.Required(), mcp.Description("What replaces it.")),
	), handler(box.editFile))
	s.AddTool(mcp.NewTool("glob",
		mcp.WithDescription("List the files whose path matches a pattern, sorted. ** crosses folders: **/*.go."),
		mcp.WithToolAnnotation(reads("Find files")),
		mcp.WithString("pattern", mcp.Required(), mcp.MinLength(1), mcp.Description("Pattern over paths relative to path.")),
		path("Folder to look in, relative to the sandbox folder. Default: the whole sandbox."),
	), handler(box.glob))
	s.AddTool(mcp.NewTool("grep",
		mcp.WithDescription("Search text files for a regular expression (RE2). Answers lines as path:number:text, 200 at most."),
		mcp.WithToolAnnotation(reads("Search files")),
		mcp.WithString("pattern", mcp.Required(), mcp.MinLength(1), mcp.Description("Regular expression, RE2 syntax.")),
		path("File or folder to search, relative to the sandbox folder. Default: the whole sandbox."),
	), handler(box.grep))
	s.AddTool(mcp.NewTool("shell_exec",
		mcp.WithDescription("Run a command with bash (or sh) in the sandbox folder and answer its output, 64 KiB at most. "+
			"Demo only: the shell itself is not confined to the folder."),
		mcp.WithToolAnnotation(mcp.ToolAnnotation{
			Title: "Run command", ReadOnlyHint: new(false), DestructiveHint: new(true),
			IdempotentHint: new(false), OpenWorldHint: new(true),
		}),
		mcp.WithString("command", mcp.Required(), mcp.MinLength(1), mcp.Description("Shell text, as typed at a prompt.")),
		mcp.WithNumber("timeout_seconds", mcp.Min(1), mcp.Max(maxTimeout.Seconds()),
			mcp.Description("Seconds after which the command is ended. Default 30.")),
	), handler(box.shellExec))
	return s
}

// handler makes a tool of f. Its text is the result. Its error becomes a result with isError, which the model reads and
// can act on.
func handler[A any](f func(context.Context, A) (string, error)) server.ToolHandlerFunc {
	return mcp.NewTypedToolHandler(func(ctx context.Context, _ mcp.CallToolRequest, args A) (*mcp.CallToolResult, error) {
		text, err := f(ctx, args)
		if err != nil {
			return mcp.NewToolResultError(err.Error()), nil
		}
		return mcp.NewToolResultText(text), nil
	})
}

// reads returns the annotations of a tool that changes nothing.
func reads(title string) mcp.ToolAnnotation {
	return mcp.ToolAnnotation{
		Title: title, ReadOnlyHint: new(true), DestructiveHint: new(false),
		IdempotentHint: new(true), OpenWorldHint: new(false),
	}
}

// changes returns the annotations of a tool that changes files; what it replaces is lost.
func changes(title string, idempotent bool) mcp.ToolAnnotation {
	return mcp.ToolAnnotation{
		Title: title, ReadOnlyHint: new(false), DestructiveHint: new(true),
		IdempotentHint: new(idempotent), OpenWorldHint: new(false),
	}
}
