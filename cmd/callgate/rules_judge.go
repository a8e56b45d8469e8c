package main

import (
	"github.com/go-json-experiment/json/jsontext"

	"callgate/gate"
	"callgate/permissions"
)

// verdict judges a call by the worker's file, or by the policy when there is one, with the code of the live
// gate.
func (ch *checker) verdict(request checkRequest, policy *permissions.Policy) (gate.Verdict, error) {
	call, err := ch.call(request)
	if err != nil {
		return gate.Verdict{}, err
	}
	if policy != nil {
		// The worker's file is neither read nor made then.
		request.Permissions = jsontext.Value(noRules)
	}
	judge, err := ch.judge(request)
	if err != nil {
		return gate.Verdict{}, err
	}
	if policy != nil {
		judge.Policy = policy
	}
	return judge.Judge(call), nil
}

const noRules = "{}"

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

// decidedBy names what decided, as people read it: the rule with its place, or who stood in for one.
func decidedBy(v *gate.Verdict) string {
	switch {
	case v.Rule == "":
		return v.By
	case v.By == "rule" || v.By == "default":
		return v.Rule
	}
	return v.By + ": " + v.Rule
}
