package guard

// Token is what Windows takes away from programs: rights, but not files, which belong to their user.
const Token Kind = "restricted token"

// restriction is what a program's token lacks of callgate's own.
type restriction struct {
	flags  uint32
	groups []string // whose rights the program has not, and whose denials it has; identifiers of Windows
}

// Flags of CreateRestrictedToken.
const (
	disableMaxPrivilege = 0x1 // every privilege but that of passing through folders
	sandboxInert        = 0x2
	luaToken            = 0x4 // as a user who is no administrator has it
)

// restricted is what every program gets: with it none debugs, impersonates, loads drivers, takes files over or acts as
// an administrator, and what it starts cannot either.
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
