package store

import (
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"callgate/permissions"
	"callgate/permissions/internal/jsonc"
)

// formerDefaults holds rules that callgate shipped before those in defaults.jsonc. A rule in a file that equals one of
// them does not count as its owner's.
//
//go:embed defaults.old.jsonc
var formerDefaults []byte

// errNoHome means that the shipped rules cannot be read here.
var errNoHome = errors.New("the home directory is not known, and the shipped rules need it")

// MergeDefaults merges the shipped rules into the file at path, whose text is given. The shipped rules come first. The
// file's own rules follow with their comments and win, and its grants stay. Rules that callgate shipped earlier are
// removed. path and home are those of ParseFile.
func MergeDefaults(path string, text []byte, home string) ([]byte, error) {
	if home == "" {
		return nil, errNoHome
	}
	if _, err := permissions.ParseFile(path, text, home); err != nil {
		return nil, err
	}
	var trees [3]hujson.Value
	for i, data := range [][]byte{text, formerDefaults, defaults} {
		tree, err := jsonc.Parse(data)
		if err != nil {
			return nil, err
		}
		trees[i] = tree
	}
	shipped := shippedRules(&trees[1], &trees[2])
	merged := trees[2]
	root := merged.Value.(*hujson.Object)
	for _, m := range trees[0].Value.(*hujson.Object).Members {
		name := jsonc.Name(&m)
		if name == permissions.AlwaysKey {
			at := slices.IndexFunc(root.Members, func(m hujson.ObjectMember) bool { return jsonc.Name(&m) == permissions.AlwaysKey })
			root.Members[at].Value.Value = m.Value.Value
			continue
		}
		if own, any := ownRules(name, m, shipped); any {
			mergeMember(root, own)
		}
	}
	out := merged.Pack()
	if _, err := permissions.ParseFile(path, out, home); err != nil {
		return nil, fmt.Errorf("the merged rules would not be valid: %w", err)
	}
	return out, nil
}

// shippedRule is one rule of a shipped file, as written there.
type shippedRule struct{ tool, pattern, action string }

func shippedRules(trees ...*hujson.Value) map[shippedRule]bool {
	set := map[shippedRule]bool{}
	for _, tree := range trees {
		for _, m := range tree.Value.(*hujson.Object).Members {
			name := jsonc.Name(&m)
			if object, ok := m.Value.Value.(*hujson.Object); ok {
				for _, p := range object.Members {
					set[shippedRule{name, jsonc.Name(&p), saidOf(p.Value)}] = true
				}
			} else {
				set[shippedRule{name, "*", saidOf(m.Value)}] = true
			}
		}
	}
	return set
}

// saidOf returns the value of a pattern, without comments and space.
func saidOf(v hujson.Value) string {
	v = v.Clone()
	v.Minimize()
	return string(v.Pack())
}

// ownRules returns the member without the shipped rules. any is false if nothing is left.
func ownRules(name string, m hujson.ObjectMember, shipped map[shippedRule]bool) (own hujson.ObjectMember, any bool) {
	object, ok := m.Value.Value.(*hujson.Object)
	if !ok {
		return m, !shipped[shippedRule{name, "*", saidOf(m.Value)}]
	}
	left := *object
	left.Members = slices.DeleteFunc(slices.Clone(object.Members), func(p hujson.ObjectMember) bool {
		return shipped[shippedRule{name, jsonc.Name(&p), saidOf(p.Value)}]
	})
	m.Value.Value = &left
	return m, len(left.Members) > 0
}

// mergeMember puts a file's own rules for a tool after the shipped rules for it, or the member of a new tool at the
// end.
func mergeMember(root *hujson.Object, own hujson.ObjectMember) {
	name := jsonc.Name(&own)
	at := slices.IndexFunc(root.Members, func(m hujson.ObjectMember) bool { return jsonc.Name(&m) == name })
	if at < 0 {
		own.Name.BeforeExtra = ownLine(own.Name.BeforeExtra, "\n  ")
		root.Members = slices.Insert(root.Members, len(root.Members)-1, own) // "$always" stays last
		return
	}
	rules, isObject := own.Value.Value.(*hujson.Object)
	there, wasObject := root.Members[at].Value.Value.(*hujson.Object)
	if !isObject {
		// One action for everything leaves the rules before it nothing to decide.
		root.Members[at].Value.Value = own.Value.Value
		return
	}
	if !wasObject {
		there = emptyIn(root)
		there.Members = []hujson.ObjectMember{{Name: hujson.Value{BeforeExtra: hujson.Extra("\n    "), Value: hujson.String("*")},
			Value: hujson.Value{BeforeExtra: hujson.Extra(" "), Value: root.Members[at].Value.Value}}}
		root.Members[at].Value.Value = there
	}
	for _, p := range rules.Members {
		pattern := jsonc.Name(&p)
		there.Members = slices.DeleteFunc(there.Members, func(q hujson.ObjectMember) bool { return jsonc.Name(&q) == pattern })
		p.Name.BeforeExtra = ownLine(p.Name.BeforeExtra, "\n    ")
		p.Value.AfterExtra = nil
		there.Members = append(there.Members, p)
	}
	if n := len(there.AfterExtra); n == 0 {
		there.AfterExtra = hujson.Extra("\n  ")
	}
}

// ownLine returns the extra before a member, with its comments and with the member on its own line.
func ownLine(before hujson.Extra, line string) hujson.Extra {
	if text := strings.TrimRight(string(before), " \t\n"); strings.TrimSpace(text) != "" {
		if !strings.HasPrefix(strings.TrimLeft(text, " \t"), "\n") {
			text = line + strings.TrimLeft(text, " \t")
		}
		return hujson.Extra(text + line)
	}
	return hujson.Extra(line)
}
