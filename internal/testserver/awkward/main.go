// Awkward is an MCP server over stdio for fidelity tests. Everything that it answers is correct and fixed, and of the
// kind that a relay loses if it rebuilds messages instead of passing them on: unknown fields, numbers that no float64
// can represent, escapes that no encoder writes, error data whose order matters. It keeps nothing between runs and uses
// no clock or randomness in its answers, so the bytes of a direct run and of a run through a proxy can be compared.
//
// The descriptions of the tools are in definitions.go. Nothing here uses an SDK.
//
//	awkward [-noise] [-strict] [-after FILE] [-record FILE] [-tasks] [-tool NAME]…
package main

import (
	"flag"
	"fmt"
	"os"
	"time"
)

func main() {
	noise := flag.Bool("noise", false, "write lines that are not JSON to stdout, before the first answer and between answers")
	strict := flag.Bool("strict", false, "exit when anything but initialize comes first, as some servers do")
	after := flag.String("after", "", "read nothing before this `file` exists, as a server that is slow to start")
	record := flag.String("record", "", "append every line that arrives to this `file`")
	tasks := flag.Bool("tasks", false, "offer tasks, and the tools work, labour and finish that make and end them")
	var tools []string
	flag.Func("tool", "offer one more tool with this `name`, which answers like echo; repeatable", func(name string) error {
		tools = append(tools, name)
		return nil
	})
	flag.Parse()
	s := newServer(os.Stdout, os.Exit)
	s.noise, s.strict, s.tasks, s.more = *noise, *strict, *tasks, tools
	if err := run(s, *after, *record); err != nil {
		fmt.Fprintln(os.Stderr, "awkward:", err)
		os.Exit(1)
	}
}

// run serves standard input once the file after exists, and appends what arrives to the file record. Both may be "".
func run(s *server, after, record string) error {
	for after != "" {
		if _, err := os.Stat(after); err == nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if record != "" {
		file, err := os.OpenFile(record, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		defer file.Close()
		s.record = file
	}
	return s.serve(os.Stdin)
}
