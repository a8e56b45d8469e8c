package rulebook_test

import (
	"slices"
	"strings"
	"testing"

	"callgate/gate/tools"
	"callgate/internal/rulebook"
)

func TestFindLeaks(t *testing.T) {
	mail := rulebook.LabeledTool{Name: "mail_read", Labels: &tools.Labels{Effect: "read", Returns: []string{tools.ReturnsUntrusted, tools.ReturnsPrivate}}, Runs: true}
	send := rulebook.LabeledTool{Name: "mail_send", Labels: &tools.Labels{Effect: tools.EffectOutside}, Runs: true}
	shell := rulebook.LabeledTool{Name: "shell_exec", Kind: tools.KindShell, Labels: &tools.Labels{}, Runs: true}
	unknown := rulebook.LabeledTool{Name: "odd_do", Runs: true}
	asked := func(tool rulebook.LabeledTool) rulebook.LabeledTool {
		tool.Runs = false
		return tool
	}
	for name, c := range map[string]struct {
		list               []rulebook.LabeledTool
		flow, open         bool
		unguarded, unknown []string
		says               string
	}{
		"nothing":             {says: "Nothing leaves without a question."},
		"reads, cannot send":  {list: []rulebook.LabeledTool{mail}, says: "Nothing leaves without a question."},
		"reads and sends":     {list: []rulebook.LabeledTool{mail, send}, open: true, unguarded: []string{"mail_send"}, says: "OPEN: "},
		"sending is asked":    {list: []rulebook.LabeledTool{mail, asked(send)}, says: "Nothing leaves without a question."},
		"flow asks":           {list: []rulebook.LabeledTool{mail, send}, flow: true, unguarded: []string{"mail_send"}, says: "Flow asks "},
		"a shell is all":      {list: []rulebook.LabeledTool{shell}, open: true, unguarded: []string{"shell_exec"}, says: "OPEN: "},
		"an unknown is all":   {list: []rulebook.LabeledTool{unknown}, open: true, unknown: []string{"odd_do"}, says: "OPEN: "},
		"an unknown is asked": {list: []rulebook.LabeledTool{asked(unknown)}, says: "Nothing leaves without a question."},
	} {
		t.Run(name, func(t *testing.T) {
			found := rulebook.FindLeaks(c.list, c.flow)
			if found.Open != c.open || !slices.Equal(found.Unguarded, c.unguarded) || !slices.Equal(found.Unknown, c.unknown) {
				t.Errorf("open %t, unguarded %q, unknown %q; want %t, %q, %q", found.Open, found.Unguarded, found.Unknown, c.open, c.unguarded, c.unknown)
			}
			var text strings.Builder
			if err := found.Print(&text); err != nil || !strings.Contains(text.String(), c.says) {
				t.Errorf("it prints %q, %v; want %q in it", text.String(), err, c.says)
			}
		})
	}
}
