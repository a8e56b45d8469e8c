package store

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/tailscale/hujson"

	"callgate/permissions"
	"callgate/permissions/internal/jsonc"
)

// document is the text of a permissions file with its comments, open for changes.
type document struct {
	path, home string
	root       hujson.Value
	rules      []permissions.Rule  // the rules that the text must have after the changes
	want       []permissions.Grant // the grants that "$always" must have after the changes
}

func parseDocument(path string, data []byte, home string) (*document, error) {
	file, err := permissions.ParseFile(path, data, home)
	if err != nil {
		return nil, err
	}
	root, err := jsonc.Parse(data)
	if err != nil {
		return nil, err
	}
	return &document{path: path, home: home, root: root, rules: file.Rules, want: file.Grants}, nil
}

// add appends the grants that the document lacks and returns their number.
func (d *document) add(grants []permissions.Grant) (int, error) {
	compiled, err := permissions.NewPolicy(nil, nil, grants)
	if err != nil {
		return 0, err
	}
	added := 0
	for _, g := range compiled.Grants {
		if slices.ContainsFunc(d.want, g.SameReach) {
			continue
		}
		element, err := grantValue(&g)
		if err != nil {
			return 0, err
		}
		appendElement(d.always(), element)
		d.want = append(d.want, g)
		added++
	}
	return added, nil
}

// remove removes the grants for which drop returns true and returns their number.
func (d *document) remove(drop func(permissions.Grant) bool) (int, error) {
	removed := 0
	for i := len(d.want) - 1; i >= 0; i-- {
		if drop(d.want[i]) {
			deleteElement(d.always(), i)
			d.want = slices.Delete(slices.Clone(d.want), i, i+1)
			removed++
		}
	}
	return removed, nil
}

// text returns the changed text. It parses it first, and returns an error unless that gives exactly the wanted rules
// and grants.
func (d *document) text() ([]byte, error) {
	data := d.root.Pack()
	got, err := permissions.ParseFile(d.path, data, d.home)
	if err != nil {
		return nil, fmt.Errorf("the changed file would not be valid: %w", err)
	}
	if !slices.EqualFunc(got.Rules, d.rules, sameRule) || !slices.EqualFunc(got.Grants, d.want, permissions.Grant.Same) {
		return nil, fmt.Errorf("%s: the changed file would not contain the change", d.path)
	}
	return data, nil
}

// always returns the array of "$always". It appends an empty one if there is none.
func (d *document) always() *hujson.Array {
	object := d.root.Value.(*hujson.Object)
	for i := range object.Members {
		if object.Members[i].Name.Value.(hujson.Literal).String() == permissions.AlwaysKey {
			return object.Members[i].Value.Value.(*hujson.Array)
		}
	}
	member := hujson.ObjectMember{
		Name:  hujson.Value{BeforeExtra: breakLine(object.AfterExtra, "  "), Value: hujson.String(permissions.AlwaysKey)},
		Value: hujson.Value{BeforeExtra: hujson.Extra(" "), Value: new(hujson.Array)},
	}
	if n := len(object.Members); n > 0 {
		// A comma after the last member moves to the new one.
		member.Value.AfterExtra = trailing(object.Members[n-1].Value.AfterExtra)
	}
	object.Members = append(object.Members, member)
	object.AfterExtra = hujson.Extra("\n")
	return member.Value.Value.(*hujson.Array)
}

// appendElement appends an element to the array on its own line, after comments that precede the closing bracket.
func appendElement(array *hujson.Array, element hujson.Value) {
	element.BeforeExtra = breakLine(array.AfterExtra, "    ")
	if n := len(array.Elements); n > 0 {
		element.AfterExtra = trailing(array.Elements[n-1].AfterExtra)
	}
	array.Elements = append(array.Elements, element)
	array.AfterExtra = hujson.Extra("\n  ")
}

// deleteElement removes the element at i. Comments around it stay.
func deleteElement(array *hujson.Array, i int) {
	gone := array.Elements[i]
	isLast := i == len(array.Elements)-1
	array.Elements = slices.Delete(array.Elements, i, i+1)
	kept := slices.Concat(gone.BeforeExtra, gone.AfterExtra)
	if isLast {
		if i > 0 {
			// The element before it now decides whether the array ends in a comma.
			before := &array.Elements[i-1]
			kept = slices.Concat(before.AfterExtra, kept)
			before.AfterExtra = trailing(gone.AfterExtra)
		}
		if !hujson.Extra(kept).IsStandard() {
			array.AfterExtra = slices.Concat(kept, array.AfterExtra)
		}
		if len(array.Elements) == 0 && array.AfterExtra.IsStandard() {
			array.AfterExtra = nil
		}
		return
	}
	if !hujson.Extra(kept).IsStandard() {
		next := &array.Elements[i]
		next.BeforeExtra = slices.Concat(kept, next.BeforeExtra)
	}
}

// trailing returns the extra for a new last element, so that a comma follows it if one followed the element with this
// extra: hujson writes a comma if the extra is not nil.
func trailing(extra hujson.Extra) hujson.Extra {
	if extra == nil {
		return nil
	}
	return hujson.Extra{}
}

// breakLine returns extra, which may hold comments, followed by one line break and the indent.
func breakLine(extra hujson.Extra, indent string) hujson.Extra {
	return slices.Concat(bytes.TrimRight(extra, " \t\r\n"), []byte("\n"+indent))
}

// grantValue formats a grant on one line.
func grantValue(g *permissions.Grant) (hujson.Value, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(g); err != nil {
		return hujson.Value{}, err
	}
	v, err := hujson.Parse(bytes.TrimSpace(b.Bytes()))
	if err != nil {
		return hujson.Value{}, err
	}
	members := v.Value.(*hujson.Object).Members
	for i := range members {
		members[i].Value.BeforeExtra = hujson.Extra(" ")
		if i > 0 {
			members[i].Name.BeforeExtra = hujson.Extra(" ")
		}
	}
	return v, nil
}

func sameRule(r, q permissions.Rule) bool {
	return r.Tool == q.Tool && r.Pattern == q.Pattern && r.Action == q.Action && r.Capped == q.Capped && r.Risk == q.Risk && r.When == q.When && r.Approvers == q.Approvers
}
