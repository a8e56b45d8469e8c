package commands

import (
	"callgate/shellparse"
	"callgate/shellparse/programs"
)

// BehindLauncher returns the words of a command after npx or a launcher like it, from the program on. It returns nil if
// there is no launcher.
func BehindLauncher(words []shellparse.Word) []shellparse.Word {
	switch first := programs.Find(words[0].Value); {
	case len(words) > 1 && programs.Find(words[0].Value, words[1].Value).Has(programs.RunsInstalled):
		words = words[2:]
	case len(words) > 1 && programs.RunsTool(words[0].Value, words[1].Value), first.Has(programs.RunsInstalled) && !first.Has(programs.PackageManager):
		words = words[1:]
	default:
		return nil
	}
	for len(words) > 0 && words[0].Known && (words[0].Value == "--no-install" || words[0].Value == "--no") {
		words = words[1:]
	}
	return words
}
