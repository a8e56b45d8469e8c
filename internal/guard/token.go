package guard

// Token takes rights away from programs on Windows. It hides no files, which belong to the programs' user.
const Token Kind = "restricted token"

// restriction is what a program's token lacks compared with callgate's own.
type restriction struct {
	flags  uint32
	groups []string // SIDs whose rights the program loses, and whose denials still apply to it
}

// Flags of CreateRestrictedToken.
const (
	disableMaxPrivilege = 0x1 // remove every privilege but SeChangeNotify, which passes through folders
	sandboxInert        = 0x2
	luaToken            = 0x4 // as for a user who is not an administrator
)

// restricted returns the restriction of every program. Neither the program nor what it starts can debug, impersonate,
// load drivers, take ownership of files or act as an administrator.
func restricted() restriction {
	return restriction{
		flags: disableMaxPrivilege | luaToken,
		groups: []string{
			"S-1-5-32-544", // Administrators
			"S-1-5-32-547", // Power Users
			"S-1-5-32-551", // Backup Operators
			"S-1-5-32-578", // Hyper-V Administrators
			"S-1-5-114",    // local account and administrator
		},
	}
}
