package permissions

import "callgate/permissions/internal/pattern"

// What an allow or a grant covers of a command, once its pattern matches:
//
//   - A pattern names the command when its literal words reach the operation (Subject.Operation): "git push *". It
//     covers the operation and what that does by itself.
//   - One that stops short of it, "git *", covers what is Harmless.
//   - An effect that comes from further words, an option that runs a program say, is covered by a pattern that spells
//     these words out; one that comes from elsewhere by none.
//   - A pattern that matches every value covers everything.
//
// Denials, marks and ESCALATION stand above all of it.

// unreached says what of the subject the pattern, which matches it, does not reach; "" when it covers all of it.
func unreached(p *pattern.Value, s *Subject) string {
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

// namedBy reports whether a pattern names the effect that spells out so many leading bytes, or the whole text.
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
