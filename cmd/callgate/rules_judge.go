package main

import "callgate/permissions"

// filePolicy reads the rules file at path as the policy of a worker; nil when path is "".
func filePolicy(path string) (*permissions.Policy, error) {
	if path == "" {
		return nil, nil
	}
	file, err := readRules(path)
	if err != nil {
		return nil, err
	}
	return permissions.NewPolicy(nil, file.Rules, file.Grants)
}
