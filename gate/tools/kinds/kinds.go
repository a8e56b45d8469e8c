// Package kinds holds the canonical kinds of tools, their categories, and the roles that arguments can have.
package kinds

import (
	"maps"
	"slices"

	"callgate/permissions"
)

// The kinds: canonical tools that a rule can name whatever an upstream calls them.
const (
	KindReadFile     = "read_file"
	KindWriteFile    = "write_file"
	KindEditFile     = "edit_file"
	KindDeleteFile   = "delete_file"
	KindMoveFile     = "move_file"
	KindGlob         = "glob"
	KindGrep         = "grep"
	KindShell        = "shell_exec"
	KindFetch        = "web_fetch"
	KindSkill        = "skill"
	KindProcessInput = "process_input" // input to a long-lived process
	KindResource     = "resource_read"
	KindPrompt       = "prompt_get"
	KindSampling     = "sampling"
	KindConnect      = "connect" // a network connection of a server in a sandbox

	// A file or a folder that a sandbox has refused its server, and that the server's next process may read or change.
	KindSandboxRead  = "sandbox_read"
	KindSandboxWrite = "sandbox_write"
)

// The categories that every class of risk carries, see permissions.Risk.
const (
	CategoryRead          = "read"
	CategoryWrite         = "workspace-write"
	CategoryGitRead       = "git-read"
	CategoryGitWrite      = "git-write"
	CategoryTerminalRead  = "terminal-read"
	CategoryTerminalWrite = "terminal-write"
	CategoryNetwork       = "network"
	CategoryAudioInput    = "audio-input"
	CategoryAudioOutput   = "audio-output"
)

// CategoryOrder orders the categories by how far they reach. A call has the furthest category of its subjects.
var CategoryOrder = map[string]int{
	CategoryRead: 1, CategoryGitRead: 2, CategoryTerminalRead: 3, CategoryAudioOutput: 4, CategoryAudioInput: 5,
	CategoryWrite: 6, CategoryGitWrite: 7, CategoryTerminalWrite: 8, CategoryNetwork: 9,
}

// kind is what all tools of one kind have in common.
type kind struct {
	Risk     permissions.Risk
	Category string
	// Arguments lists the usual names of its arguments. Within a role, the one that holds the value comes first.
	Arguments []argumentRole
}

type argumentRole struct {
	Name string
	Role Role
}

// Of holds the kinds by name. The argument names are those that `callgate check KIND` takes.
var Of = map[string]kind{
	KindReadFile: {permissions.ReadOnly, CategoryRead, []argumentRole{
		{"path", ReadPath}, {"file_path", ReadPath}, {"paths", ReadPath},
		{"offset", Plain}, {"limit", Plain}, {"head", Plain}, {"tail", Plain}, {"encoding", Plain}}},
	KindWriteFile: {permissions.Write, CategoryWrite, []argumentRole{
		{"path", WritePath}, {"file_path", WritePath}, {"content", Plain}, {"mode", Plain}, {"encoding", Plain}}},
	KindEditFile: {permissions.Write, CategoryWrite, []argumentRole{
		{"path", WritePath}, {"file_path", WritePath}, {"edits", Plain}, {"old_text", Plain}, {"new_text", Plain},
		{"old_string", Plain}, {"new_string", Plain}, {"replace_all", Plain}, {"dry_run", Plain}}},
	KindDeleteFile: {permissions.Destructive, CategoryWrite, []argumentRole{
		{"path", DeletePath}, {"file_path", DeletePath}, {"paths", DeletePath}, {"recursive", Plain}}},
	KindMoveFile: {permissions.Write, CategoryWrite, []argumentRole{
		{"source", DeletePath}, {"destination", WritePath}, {"from", DeletePath}, {"to", WritePath}, {"overwrite", Plain}}},
	KindGlob: {permissions.ReadOnly, CategoryRead, []argumentRole{
		{"pattern", PatternPath}, {"path", ListFolder}, {"limit", Plain}}},
	KindGrep: {permissions.ReadOnly, CategoryRead, []argumentRole{
		{"path", ReadFolder}, {"file_path", ReadFolder}, {"pattern", Plain}, {"include", PatternPath}, {"glob", PatternPath},
		{"ignore_case", Plain}, {"limit", Plain}}},
	// The risk is only the floor: the command decides.
	KindShell: {permissions.ReadOnly, CategoryTerminalWrite, []argumentRole{
		{"command", Command}, {"cmd", Command}, {"input", Command}, {"cwd", Dir}, {"workdir", Dir}, {"working_directory", Dir},
		{"shell", Shell}, {"env", Env}, {"stdin", Input}, {"timeout", Plain}, {"timeout_seconds", Plain}, {"timeout_ms", Plain},
		{"description", Plain}}},
	KindFetch: {permissions.Network, CategoryNetwork, []argumentRole{
		{"url", URL}, {"max_length", Plain}, {"start_index", Plain}, {"raw", Plain}, {"prompt", Plain}}},
	KindSkill: {permissions.Unknown, CategoryRead, []argumentRole{
		{"name", Name}, {"skill", Name}, {"arguments", Plain}, {"args", Plain}}},
	KindProcessInput: {permissions.Unknown, CategoryTerminalWrite, []argumentRole{
		{"input", Input}, {"text", Input}, {"pid", Plain}, {"session", Plain}, {"timeout_ms", Plain}}},
	// Everything else in such a request is in "params", for people; rules do not see it.
	KindResource: {permissions.ReadOnly, CategoryRead, []argumentRole{{"uri", URI}, {"params", Plain}}},
	KindPrompt:   {permissions.ReadOnly, CategoryRead, []argumentRole{{"name", Name}, {"params", Plain}}},
	KindSampling: {permissions.Network, CategoryNetwork, []argumentRole{{"server", Name}, {"params", Plain}}},
	KindConnect:  {permissions.Network, CategoryNetwork, []argumentRole{{"to", Name}, {"private", Name}}},

	KindSandboxRead:  {permissions.Unknown, CategoryRead, []argumentRole{{"path", Name}}},
	KindSandboxWrite: {permissions.Unknown, CategoryWrite, []argumentRole{{"path", Name}}},
}

// OpensSandbox reports whether a kind widens the sandbox of a server.
func OpensSandbox(kind string) bool { return kind == KindSandboxRead || kind == KindSandboxWrite }

// Kinds returns the names of all kinds, sorted.
func Kinds() []string { return slices.Sorted(maps.Keys(Of)) }
