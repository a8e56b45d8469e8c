// Demo is a small MCP server over stdio for trying callgate.
//
// It reads, writes and searches the files of one folder, and runs shell commands there. All file access goes through
// os.Root, so no path and no symbolic link leaves the folder.
//
// shell_exec is the exception: a shell has the user's rights. Start the demo only in a folder made for it, behind a
// gate that asks.
//
//	demo FOLDER
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/mark3labs/mcp-go/server"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

// run serves until in ends or ctx is done. Neither is an error.
func run(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	if len(args) != 1 {
		return errors.New("usage: demo FOLDER")
	}
	box, err := openSandbox(args[0])
	if err != nil {
		return err
	}
	defer box.root.Close()
	err = server.NewStdioServer(newServer(box)).Listen(ctx, in, out)
	if errors.Is(err, io.EOF) || errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
