package spawn

import "strconv"

// Status describes how a program ended.
type Status struct {
	Code int    // exit code, -1 after a signal or if unknown
	Text string // in words: "exit status 1", "signal: killed"
}

func exitStatus(code int) Status { return Status{code, "exit status " + strconv.Itoa(code)} }
