package approve

import (
	"testing"

	"callgate/internal/companion/wire"
)

// A person who answers the demo is not shown another host's call.
func TestWithin(t *testing.T) {
	list := []wire.ToolApproveRequest{{Origin: wire.Origin{Folder: "/src/app"}}, {Origin: wire.Origin{Folder: "/tmp/callgate-demo-1"}}, {}}
	own := Approving{Folder: "/tmp/callgate-demo-1"}
	if got := own.within(append([]wire.ToolApproveRequest(nil), list...)); len(got) != 1 || got[0].Origin.Folder != own.Folder {
		t.Errorf("%+v", got)
	}
	if got := (&Approving{}).within(list); len(got) != len(list) {
		t.Errorf("without a folder: %+v", got)
	}
}
