package tools

import (
	"callgate/gate/tools/internal/commands"
	"callgate/gate/tools/internal/wording"
	"callgate/gate/tools/kinds"
	"callgate/gate/tools/workspace"
)

// A call is made in a Place, and its arguments have roles: see the packages workspace and kinds.
type (
	Place      = workspace.Place
	ShellSetup = workspace.ShellSetup
	Role       = kinds.Role
)

// Two of the roles: Unmapped if nobody gave one, and Plain for what does not concern the gate.
const (
	Unmapped = kinds.Unmapped
	Plain    = kinds.Plain
)

// The kinds: canonical tools that a rule can name whatever an upstream calls them.
const (
	KindReadFile     = kinds.KindReadFile
	KindWriteFile    = kinds.KindWriteFile
	KindEditFile     = kinds.KindEditFile
	KindDeleteFile   = kinds.KindDeleteFile
	KindMoveFile     = kinds.KindMoveFile
	KindGlob         = kinds.KindGlob
	KindGrep         = kinds.KindGrep
	KindShell        = kinds.KindShell
	KindFetch        = kinds.KindFetch
	KindSkill        = kinds.KindSkill
	KindProcessInput = kinds.KindProcessInput
	KindResource     = kinds.KindResource
	KindPrompt       = kinds.KindPrompt
	KindSampling     = kinds.KindSampling
	KindConnect      = kinds.KindConnect
	KindSandboxRead  = kinds.KindSandboxRead
	KindSandboxWrite = kinds.KindSandboxWrite
)

// Two of the categories, see package kinds.
const (
	CategoryNetwork     = kinds.CategoryNetwork
	CategoryAudioOutput = kinds.CategoryAudioOutput
)

// Kinds returns the names of all kinds, sorted.
func Kinds() []string { return kinds.Kinds() }

// OpensSandbox reports whether a kind widens the sandbox of a server.
func OpensSandbox(kind string) bool { return kinds.OpensSandbox(kind) }

// ParseRole parses the name of a role.
func ParseRole(name string) (Role, error) { return kinds.ParseRole(name) }

// IsManifest reports whether a path names a file that says what builds and tests run.
func IsManifest(path string) bool { return commands.IsManifest(path) }

// IsHookManifest reports whether a path names a file that says which hooks git runs.
func IsHookManifest(path string) bool { return commands.IsHookManifest(path) }

// CredentialStore returns the part of a text that names a file or folder where credentials are kept, or "".
func CredentialStore(text string) string { return workspace.CredentialStore(text) }

// Visible returns s with everything that a person cannot see, or that changes how the rest is seen, in a visible
// notation: ⟨U+202E⟩, or ⟨0xFF⟩ for a byte that is not UTF-8. HTML needs its own escaping on top.
func Visible(s string) string { return wording.Visible(s) }
