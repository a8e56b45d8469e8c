// Command callgate-opa is callgate with OPA, which evaluates policies in Rego. It is a separate module, so that
// callgate does not require OPA's dependencies.
package main

import (
	"os"

	"callgate/internal/command"
	"callgate/internal/policy"
)

func main() {
	policy.OpenRego = OpenRego
	os.Exit(command.Main())
}
