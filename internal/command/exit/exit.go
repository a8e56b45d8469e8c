// Package exit is how a command ends the program with a code of its own.
package exit

import "fmt"

// Code is an error that ends the program with a code of its own and has nothing more to say.
type Code int

func (c Code) Error() string { return fmt.Sprintf("exit code %d", int(c)) }
