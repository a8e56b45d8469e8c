package kinds

import (
	"fmt"
	"slices"
	"strings"
)

// Role says what an argument of a mapped tool is.
type Role uint8

const (
	Unmapped    Role = iota // nobody said: the call asks
	Plain                   // text, numbers, switches: nothing to judge
	ReadPath                // a file that is read
	ReadFolder              // a folder that is read recursively
	WritePath               // a file that is written or created
	DeletePath              // a file that is deleted, or moved away
	Command                 // shell text
	Argv                    // an array of words that is executed without a shell
	Input                   // text sent to a running process, or to the standard input of a command
	Dir                     // the directory that a command runs in, or that a tool works on
	PatternPath             // a glob that selects files
	URL                     // an address that is fetched
	Name                    // the name of a skill, a prompt or a server
	Code                    // source text of a program that the tool executes
	ListFolder              // a folder whose names are listed; nothing in it is read
	Shell                   // the program that reads the shell text of another argument
	Env                     // variables that a command runs under
	Revision                // a git revision, which may name a file too: "HEAD:.env"
	SQL                     // statements for a database
	URI                     // an MCP resource
	URLText                 // text that names the addresses that are fetched
	Patch                   // a patch as apply_patch takes it: its headers name the files that it changes
	StagePath               // a file that becomes part of the repository that the tool works on
	GraphQL                 // a GraphQL document
	Mongo                   // a filter or a pipeline of MongoDB, in JSON
)

// RoleNames holds the roles as a configuration spells them.
var RoleNames = [...]string{
	Unmapped: "unmapped", Plain: "plain", ReadPath: "read-path", ReadFolder: "read-folder", WritePath: "write-path",
	DeletePath: "delete-path", Command: "command", Argv: "argv", Input: "input", Dir: "dir",
	PatternPath: "pattern-path", URL: "url", Name: "name", Code: "code", ListFolder: "list-folder",
	Shell: "shell", Env: "env", Revision: "revision", SQL: "sql", URI: "uri", URLText: "url-text", Patch: "patch", StagePath: "stage-path", GraphQL: "graphql", Mongo: "mongo-query",
}

// IsValue reports whether rules match what an argument of the role holds.
func (r Role) IsValue() bool {
	switch r {
	case Unmapped, Plain, Dir, Shell, Env:
		return false
	}
	return true
}

// IsStatement reports whether an argument of the role holds statements in a language that says what they do.
func (r Role) IsStatement() bool { return r == SQL || r == GraphQL || r == Mongo }

// String returns the role as a configuration spells it, such as "read-path".
func (r Role) String() string { return RoleNames[r] }

// ParseRole parses what String returns, except "unmapped".
func ParseRole(s string) (Role, error) {
	for r, name := range RoleNames {
		if name == s && Role(r) != Unmapped {
			return Role(r), nil
		}
	}
	return Unmapped, fmt.Errorf("unknown argument role %q: use one of %s", s, strings.Join(slices.Sorted(slices.Values(RoleNames[Plain:])), ", "))
}
