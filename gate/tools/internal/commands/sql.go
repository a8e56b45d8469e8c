package commands

import (
	"callgate/permissions"
	"callgate/shellparse/embedded"
)

// ServerSQL is ClassifySQL for statements that a server is given: whose database it is nobody can tell, rows that are
// deleted do not come back, and what it keeps of its users is more than data.
func ServerSQL(text string) permissions.Risk {
	if embedded.SQL(text)&embedded.SQLDeletes != 0 {
		return permissions.Destructive
	}
	risk := ClassifySQL(text)
	if !risk.Exceeds(permissions.Unknown) && embedded.SQLOpensAccounts(text) {
		risk = risk.Worse(permissions.Unknown)
	}
	return risk
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
