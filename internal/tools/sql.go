package tools

import (
	"callgate/permissions"
	"callgate/shellparse/embedded"
)

// classifySQL says what statements may do.
func classifySQL(text string) permissions.Risk {
	switch does := embedded.SQL(text); {
	case does&embedded.SQLDestroys != 0:
		return permissions.Destructive
	case does&embedded.SQLUnknown != 0:
		return permissions.Unknown
	case does&embedded.SQLWrites != 0:
		return permissions.Write
	}
	return permissions.ReadOnly
}
