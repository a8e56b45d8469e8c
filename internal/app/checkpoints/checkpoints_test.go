package checkpoints_test

import (
	"testing"

	"callgate/gate"
	"callgate/gate/tools"
	"callgate/internal/app/checkpoints"
	"callgate/internal/checkpoint"
)

func TestUndoPromisesOnlyWhatIsKept(t *testing.T) {
	store, err := checkpoint.Open(checkpoint.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	k := &checkpoints.Checkpoints{Store: store}
	place := tools.Place{Dir: t.TempDir(), Home: t.TempDir()}
	notes := tools.Server{Name: "notes"}
	for _, c := range []struct {
		tool      *tools.Tool
		arguments string
		kept      bool
	}{
		{tools.KindTool(tools.KindWriteFile), `{"path":"a.txt","content":"x"}`, true},
		{tools.KindTool(tools.KindShell), `{"command":"echo x > a.txt"}`, true},
		{tools.KindTool(tools.KindShell), `{"command":"echo x > /dev/null"}`, false},
		{tools.Describe(notes, "write_file", "notes_write_file", nil), `{"path":"a.txt","content":"x"}`, true},
		{tools.Describe(notes, "send_mail", "notes_send_mail", nil), `{"to":"bob@example.com"}`, false},
		{tools.Describe(notes, "send_mail", "notes_send_mail", nil), `{"to":"./a.txt"}`, false},
	} {
		a := tools.Analyze(tools.Call{Tool: c.tool, Arguments: []byte(c.arguments), Place: place})
		undo := k.Undo(gate.Call{Tool: c.tool, Place: place}, a)
		if c.kept && (undo == nil || !undo.Kept) || !c.kept && undo != nil {
			t.Errorf("%s %s: undo is %+v", c.tool.Qualified, c.arguments, undo)
		}
	}
}
