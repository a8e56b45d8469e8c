package app

import (
	"callgate/audit"
	"callgate/internal/presence"
)

// RemovePasskey removes a passkey, even if the removal cannot be recorded.
func RemovePasskey(dataDir, id string, who audit.Author) (presence.Key, error) {
	removed, err := presence.OpenKeys(dataDir).Remove(id)
	if err == nil {
		err = DirFreezer{dataDir}.record("", who)(presence.RemovedSummary(removed))
	}
	return removed, err
}
