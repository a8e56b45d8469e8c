package tools

import (
	"callgate/permissions"
	"callgate/shellparse/embedded"
)

// classifySQL says what statements that a server is given may do. Whose database it is nobody can tell, and rows that are
// deleted do not come back.
func classifySQL(text string) permissions.Risk {
	switch does := embedded.SQL(text); {
	case does&(embedded.SQLDestroys|embedded.SQLDeletes) != 0:
		return permissions.Destructive
	case does&embedded.SQLUnknown != 0:
		return permissions.Unknown
	case does&embedded.SQLWrites != 0:
		return permissions.Write
	}
	return permissions.ReadOnly
}
