package rulebook

import (
	"os"

	"github.com/adrg/xdg"

	"callgate/permissions"
)

// readRules parses the rules file at path.
func readRules(path string) (*permissions.File, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return permissions.ParseFile(path, text, xdg.Home)
}

// ReadPolicy parses the rules file at path as the policy of a worker. It returns nil if path is "".
func ReadPolicy(path string) (*permissions.Policy, error) {
	if path == "" {
		return nil, nil
	}
	file, err := readRules(path)
	if err != nil {
		return nil, err
	}
	return permissions.NewPolicy(nil, file.Rules, file.Grants)
}
