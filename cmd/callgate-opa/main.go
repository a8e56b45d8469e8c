// Command callgate-opa is callgate with OPA, which evaluates policies in Rego. It is a module of its own, so that what OPA
// needs is no requirement of callgate.
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
