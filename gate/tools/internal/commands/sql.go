package commands

import (
	"callgate/permissions"
	"callgate/shellparse/embedded"
)

// ServerSQL is classifySQL for statements that a server is given: whose database it is nobody can tell, and rows that
// are deleted do not come back.
func ServerSQL(text string) permissions.Risk {
	if embedded.SQL(text)&embedded.SQLDeletes != 0 {
		return permissions.Destructive
	}
	return ClassifySQL(text)
}

// ClassifySQL says what statements may do.
func ClassifySQL(text string) permissions.Risk {
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
