package permissions_test

import (
	"fmt"

	"callgate/permissions"
)

func Example() {
	file, err := permissions.ParseFile("permissions.jsonc", []byte(`{ "read_file": { "*": "allow", "*.env": "deny" } }`), "/home/me")
	if err != nil {
		panic(err)
	}
	policy, err := permissions.NewPolicy(nil, file.Rules, file.Grants)
	if err != nil {
		panic(err)
	}
	for _, path := range []string{"main.go", "prod.env"} {
		s := permissions.Subject{Tool: "read_file", Kind: "read_file", KindBound: true, Value: path, Decides: permissions.Form{path}}
		f := permissions.Evaluate(policy, permissions.Context{}, &s)
		fmt.Println(path, f.Action, f.Rule)
	}
	// Output:
	// main.go allow read_file "*" allow (permissions.jsonc:1, file)
	// prod.env deny read_file "*.env" deny (permissions.jsonc:1, file)
}
