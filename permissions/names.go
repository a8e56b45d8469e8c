package permissions

import "callgate/permissions/internal/pattern"

// What an allow or a grant covers of a command, once its pattern matches:
//
//   - A pattern names the command if its literal words reach the operation (Subject.Operation): "git push *". It
//     covers the operation and everything that the operation itself does.
//   - A shorter pattern, "git *", covers the command if it is Harmless.
//   - An effect that comes from further words, such as an option that runs a program, is covered by a pattern that
//     spells these words out. An effect that comes from elsewhere is covered by no such pattern.
//   - A pattern that matches every value covers everything.
//
// Denials, marks and ESCALATION take precedence over all of this.

// uncovered returns what of the subject a matching pattern does not cover, or "" if it covers everything.
func uncovered(p *pattern.Value, s *Subject) string {
	if p.All || s.Operation == 0 && len(s.Effects) == 0 {
		return ""
	}
	exact, word, whole := 0, 0, false
	if !p.HasArgument() && len(s.Decides) > 0 {
		exact, word, whole = p.Spells(s.Decides[0])
	}
	for i := range s.Effects {
		if !s.Effects[i].namedBy(exact, whole) {
			return s.Effects[i].Text
		}
	}
	if word < s.Operation && !s.Harmless {
		return "it does not name " + s.operation()
	}
	return ""
}

// namedBy reports whether a pattern names the effect. n is the number of leading bytes that the pattern spells out;
// whole means that it spells out the whole text.
func (e Effect) namedBy(n int, whole bool) bool {
	if e.Named == Whole {
		return whole
	}
	return e.Named > 0 && n >= e.Named
}

// operation returns the words that name what the command does.
func (s *Subject) operation() string {
	if len(s.Decides) == 0 {
		return s.Value
	}
	return s.Decides[0][:min(s.Operation, len(s.Decides[0]))]
}
