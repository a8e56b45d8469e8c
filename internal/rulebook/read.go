package rulebook

import (
	"os"

	"github.com/adrg/xdg"

	"callgate/permissions"
)

// readRules reads the rules file at path.
func readRules(path string) (*permissions.File, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return permissions.ParseFile(path, text, xdg.Home)
}

// ReadPolicy reads the rules file at path as the policy of a worker; nil when path is "".
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
