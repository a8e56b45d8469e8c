// Package exit lets a command end the program with its own exit code.
package exit

import "fmt"

// Code is an error that ends the program with that exit code, without a message.
type Code int

func (c Code) Error() string { return fmt.Sprintf("exit code %d", int(c)) }
