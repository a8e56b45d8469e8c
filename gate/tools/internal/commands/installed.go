package commands

import "callgate/shellparse"

// BehindLauncher returns the words of a command behind npx and what does the same, from the program on; nil for others.
func BehindLauncher(words []shellparse.Word) []shellparse.Word {
	switch words[0].Value {
	case "npx", "pnpx":
	case "pnpm", "yarn":
		if len(words) < 2 || words[1].Value != "exec" {
			return nil
		}
	default:
		return nil
	}
	if words = words[1:]; len(words) > 0 && words[0].Value == "exec" {
		words = words[1:]
	}
	for len(words) > 0 && words[0].Known && (words[0].Value == "--no-install" || words[0].Value == "--no") {
		words = words[1:]
	}
	return words
}
