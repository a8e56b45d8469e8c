package shellparse

// Describes reports whether the built-in tables say what the options of a command do. The words are a program,
// or one with its subcommand: "git log". Who keeps a list of commands can hold it against the tables with that.
func Describes(words string) bool {
	if row := builtinTables().programs[words]; row != nil {
		return row.Subcommands == ""
	}
	return handlers[words] != nil || inspectors[words] != nil
}
