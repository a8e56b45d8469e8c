// Floor is the cheapest gate over stdio that Go's standard library allows; callgate's cost is measured against it.
//
// It reads each line far enough to know the method, the id and the tool, and passes the bytes on. It judges and records
// nothing. Over HTTP it is Go's reverse proxy, and prints its address.
//
//	floor -- COMMAND [ARGUMENT...]
//	floor -http URL
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
)

// head is the part of a message that a gate needs before it can decide anything.
type head struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name string `json:"name"`
	} `json:"params"`
}

func main() {
	server := flag.String("http", "", "pass on to the server at this `URL`")
	flag.Parse()
	var err error
	switch command := flag.Args(); {
	case *server != "":
		err = reverse(*server, os.Stdout)
	case len(command) > 0:
		err = run(command)
	default:
		fmt.Fprintln(os.Stderr, "usage: floor -- COMMAND [ARGUMENT...], or floor -http URL")
		os.Exit(2)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "floor:", err)
		os.Exit(1)
	}
}

func run(command []string) error {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	toServer := make(chan error, 1)
	go func() { toServer <- errors.Join(relay(in, os.Stdin), in.Close()) }()
	if err := relay(os.Stdout, out); err != nil {
		return err
	}
	if err := cmd.Wait(); err != nil {
		return err
	}
	select {
	case err = <-toServer:
	default: // the server ended first; the host's stdin is still open
	}
	return err
}

// relay passes on every line that is a message and drops the others.
func relay(to io.Writer, from io.Reader) error {
	lines := bufio.NewReaderSize(from, 1<<16)
	for {
		line, err := lines.ReadBytes('\n')
		var message head
		if len(line) > 0 && json.Unmarshal(line, &message) == nil && (message.Method != "" || message.ID != nil) {
			if _, err := to.Write(line); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}
