package commands

import (
	"callgate/permissions"
	"callgate/shellparse/embedded"
)

// ServerSQL is ClassifySQL for statements that a server is given. Nobody can tell whose database that is, deleted rows
// do not come back, and what it keeps about its users is more than data.
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

// ClassifySQL returns the risk of statements.
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
