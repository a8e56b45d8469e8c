package rules

import (
	"errors"
	"fmt"
	"slices"

	"github.com/adrg/xdg"
	"github.com/spf13/cobra"

	"callgate/gate/tools"
	"callgate/internal/config"
	"callgate/internal/output"
	"callgate/internal/rulebook"
	"callgate/internal/translate"
	"callgate/permissions"
	"callgate/permissions/store"
)

// applyImport adds the rules of an import to the worker's file. If a rule that asks or denies is not in force
// afterwards, it fails, but has added the others.
func applyImport(cmd *cobra.Command, s *config.Settings, im *translate.Import, from string) error {
	_, book, done, err := openFor(cmd, s)
	if err != nil {
		return err
	}
	defer done()
	im.Rules = im.Ordered()
	base, text, refused, err := withImport(book, im)
	if err != nil {
		return err
	}
	if err := translate.Print(cmd.ErrOrStderr(), refused); err != nil {
		return err
	}
	if string(base) != string(text) {
		output.Diff(cmd.OutOrStdout(), base, text)
		if err := book.Install(base, text, im.Summary(from)); err != nil {
			return err
		}
	}
	return sayUnheld(cmd, im, text)
}

// withImport returns the worker's file, its text with the rules of an import added, and the rules that could not be
// added. It withdraws allows that would otherwise run calls which a refused rule asks about or denies.
func withImport(book *rulebook.Book, im *translate.Import) (base, text []byte, refused []translate.Left, err error) {
	var lost []int // indices of refused rules that are not allows
	add := func(rules *store.Store) error {
		refused, lost = nil, nil
		for i := range im.Rules {
			r := &im.Rules[i]
			if err := addImported(rules, im, r); err != nil {
				refused = append(refused, translate.Left{What: r.From, Why: err.Error()})
				if r.Action != permissions.Allow {
					lost = append(lost, i)
				}
			}
		}
		return nil
	}
	base, text, err = book.Changed(add)
	if err == nil && len(lost) > 0 { // a rule that is already in the file stays in its place, before the added ones
		known := len(im.Left)
		im.WithdrawFor(lost, "is in the file already, before it")
		base, text, err = book.Changed(add)
		refused = append(refused, im.Left[known:]...)
	}
	return base, text, refused, err
}

// addImported adds a rule. A rule that denies or asks replaces a milder one with the same pattern.
func addImported(rules *store.Store, im *translate.Import, r *translate.Rule) error {
	_, refused := rules.AddRule(r.Tool, r.Pattern, r.Action, r.Before)
	if refused == nil || r.Action == permissions.Allow {
		return refused
	}
	policy, err := rules.Policy()
	if err != nil {
		return err
	}
	at := slices.IndexFunc(policy.File, func(q permissions.Rule) bool { return r.IsIn(&q, xdg.Home) })
	if at < 0 || !im.Replaces(r, policy.File, at) {
		return refused
	}
	if _, err := rules.RemoveRules(r.Tool, r.Pattern); err != nil {
		return err
	}
	_, err = rules.AddRule(r.Tool, r.Pattern, r.Action, im.First(r))
	return err
}

// sayUnheld lists the imported rules that ask or deny but are not in force with this text. It fails if there are any.
func sayUnheld(cmd *cobra.Command, im *translate.Import, text []byte) error {
	file, err := permissions.ParseFile("the rules", text, xdg.Home)
	if err != nil {
		return err
	}
	policy, err := permissions.NewPolicy(nil, file.Rules, nil)
	if err != nil {
		return err
	}
	unheld, err := im.Unheld(policy.File, xdg.Home)
	if err != nil {
		return err
	}
	for _, l := range unheld {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s is not in force: %s\n", tools.Visible(l.What), tools.Visible(l.Why))
	}
	if len(unheld)+im.Lost > 0 {
		return errors.New("the rules are not as strict as those imported: write what is named above with callgate rules edit")
	}
	return nil
}
