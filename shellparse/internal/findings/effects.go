package findings

import "callgate/shellparse/script"

// AddEffect adds an effect, unless the list has one with the same text. Then the Named that is harder to name wins.
func AddEffect(list *[]script.Effect, e script.Effect) {
	for i := range *list {
		if old := &(*list)[i]; old.Text == e.Text {
			old.Named, old.Split = harderToName(old.Named, e.Named), old.Split && e.Split
			return
		}
	}
	*list = append(*list, e)
}

// harderToName returns the stricter of two values of Effect.Named.
func harderToName(a, b int) int {
	switch {
	case a == 0 || b == 0:
		return 0
	case a == b:
		return a
	case a < 0 || b < 0:
		return script.Whole
	}
	return max(a, b)
}

// Behind returns an effect of an inner command as an effect of the command that runs it after n words of its own.
// Unless same is true (the inner words are the very same words), no rule names it.
func Behind(e script.Effect, n int, same bool) script.Effect {
	switch {
	case !same:
		return script.Effect{Text: e.Text}
	case e.Named > 0:
		e.Named += n
	}
	return e
}

// Unnamed returns the effects as a command with other words has them: no rule for its words names them.
func Unnamed(list []script.Effect) []script.Effect {
	out := make([]script.Effect, len(list))
	for i, e := range list {
		out[i] = script.Effect{Text: e.Text}
	}
	return out
}

// OfOperation marks an effect that belongs to what the command does: a rule that names the operation names it too.
const OfOperation = -2

// OfProject marks an effect that only loads code of the project. It does not count for a program that runs this code.
const OfProject = -3
