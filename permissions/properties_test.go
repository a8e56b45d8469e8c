package permissions

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"callgate/permissions/internal/pattern"
)

// Small alphabets, so that rules and grants often match values.
var (
	someTools    = []string{"fs_read", "fs_write", "sh_run"}
	someKeys     = []string{"*", "fs_*", "fs_read", "read_file", "shell_exec", "{fs_read,sh_run}", "!fs_read"}
	someValues   = []string{"a", "b", "a b", "a.env", ".env", "src/a", "src/.env.example", "git push"}
	somePatterns = []string{"*", "a", "a *", "*.env", "*.env.*", "src/**", "!(a)", "[ab]", "*a*", "git push *", "**/.env", "x=a", "x=*"}
	someActions  = []Action{Deny, Confirm, Ask, Allow}
	someRisks    = []Risk{Unknown, ReadOnly, BuildTest, Write, Network, Destructive, Escalation}
)

func drawRule(t *rapid.T) Rule {
	return Rule{
		Tool:    rapid.SampledFrom(someKeys).Draw(t, "tool key"),
		Pattern: rapid.SampledFrom(somePatterns).Draw(t, "pattern"),
		Action:  rapid.SampledFrom(someActions).Draw(t, "action"),
	}
}

func drawGrant(t *rapid.T) Grant {
	return Grant{
		Tool:    rapid.SampledFrom(someKeys).Draw(t, "granted tool"),
		Pattern: rapid.SampledFrom(somePatterns).Draw(t, "granted pattern"),
		Risk:    rapid.SampledFrom(someRisks).Draw(t, "ceiling"),
	}
}

func drawForm(t *rapid.T) Form {
	return rapid.SliceOfN(rapid.SampledFrom(someValues), 0, 2).Draw(t, "form")
}

func drawSubject(t *rapid.T) *Subject {
	s := &Subject{
		Tool:       rapid.SampledFrom(someTools).Draw(t, "tool"),
		Kind:       rapid.SampledFrom([]string{"", "read_file", "shell_exec"}).Draw(t, "kind"),
		KindBound:  rapid.Bool().Draw(t, "bound"),
		DeniesOnly: rapid.IntRange(0, 4).Draw(t, "denies only") == 0,
		Decides:    drawForm(t),
		Risk:       rapid.SampledFrom(someRisks).Draw(t, "risk"),
	}
	for range rapid.IntRange(0, 2).Draw(t, "other forms") {
		s.Also = append(s.Also, drawForm(t))
	}
	if rapid.IntRange(0, 3).Draw(t, "effect") == 0 {
		s.Effects = []Effect{{"option -exec", rapid.SampledFrom([]int{0, Whole, 1, 3}).Draw(t, "named")}}
	}
	if rapid.IntRange(0, 3).Draw(t, "command") == 0 && len(s.Decides) > 0 {
		s.Operation = min(rapid.IntRange(0, 4).Draw(t, "operation"), len(s.Decides[0]))
	}
	if args := rapid.SampledFrom([]string{"", `{"x":"a"}`, `{"x":["a","b"]}`, `{"x":{}}`, `?`}).Draw(t, "arguments"); args != "" {
		s.Arguments = []byte(args)
	}
	return s
}

func drawRules(t *rapid.T, label string) []Rule {
	return rapid.SliceOfN(rapid.Custom(drawRule), 0, 6).Draw(t, label)
}

func compiled(t *rapid.T, agent, file []Rule, grants []Grant) *Policy {
	p, err := NewPolicy(agent, file, grants)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// runs reports whether the rules let the subject run without a person.
func runs(f Finding) bool { return f.Action == Allow || f.Grant != nil }

func insert(t *rapid.T, rules []Rule, r Rule) []Rule {
	return slices.Insert(slices.Clone(rules), rapid.IntRange(0, len(rules)).Draw(t, "place"), r)
}

func TestADenyNeverAllowsMore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		agent, file, s := drawRules(t, "agent"), drawRules(t, "file"), drawSubject(t)
		grants := rapid.SliceOfN(rapid.Custom(drawGrant), 0, 2).Draw(t, "grants")
		deny := drawRule(t)
		deny.Action = Deny

		before := Evaluate(compiled(t, agent, file, grants), Context{}, s)
		for _, after := range []Finding{
			Evaluate(compiled(t, agent, insert(t, file, deny), grants), Context{}, s),
			Evaluate(compiled(t, insert(t, agent, deny), file, grants), Context{}, s),
		} {
			if after.Action > before.Action || runs(after) && !runs(before) {
				t.Fatalf("with %v: %v (grant %v), before it: %v (grant %v)", &deny, after.Action, after.Grant, before.Action, before.Grant)
			}
		}
	})
}

func TestAGrantOnlyReleasesAnAskUpToItsCeiling(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		agent, file, s := drawRules(t, "agent"), drawRules(t, "file"), drawSubject(t)
		grants := rapid.SliceOfN(rapid.Custom(drawGrant), 1, 4).Draw(t, "grants")

		bare := Evaluate(compiled(t, agent, file, nil), Context{}, s)
		f := Evaluate(compiled(t, agent, file, grants), Context{}, s)
		if f.Action != bare.Action || f.Veto != bare.Veto || f.Layer != bare.Layer {
			t.Fatalf("the grants change %v to %v", bare.Action, f.Action)
		}
		if f.Grant == nil {
			return
		}
		if f.Action != Ask || uncovered(f.Grant.pattern, s) != "" || s.Risk.Exceeds(f.Grant.Risk) {
			t.Fatalf("%v releases %v, risk %v, effects %v", f.Grant, f.Action, s.Risk, s.Effects)
		}
	})
}

func TestMoreFormsAreNeverLooser(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		agent, file, s := drawRules(t, "agent"), drawRules(t, "file"), drawSubject(t)
		p := compiled(t, agent, file, rapid.SliceOfN(rapid.Custom(drawGrant), 0, 2).Draw(t, "grants"))
		before := Evaluate(p, Context{}, s)

		more := *s
		more.Also = append(slices.Clone(s.Also), drawForm(t))
		if after := Evaluate(p, Context{}, &more); after.Action > before.Action || runs(after) && !runs(before) {
			t.Fatalf("with the form %q: %v, without: %v", more.Also[len(s.Also)], after.Action, before.Action)
		}
	})
}

func TestOrderOfUnrelatedRulesIsIrrelevant(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		file := rapid.SliceOfN(rapid.Custom(drawRule), 2, 6).Draw(t, "file")
		s := drawSubject(t)
		i := rapid.IntRange(0, len(file)-2).Draw(t, "swap at")
		file[i].Tool, file[i+1].Tool = "fs_read", "sh_run" // no tool matches both

		swapped := slices.Clone(file)
		swapped[i], swapped[i+1] = swapped[i+1], swapped[i]
		a := Evaluate(compiled(t, nil, file, nil), Context{}, s)
		b := Evaluate(compiled(t, nil, swapped, nil), Context{}, s)
		if a.Action != b.Action || a.Layer != b.Layer {
			t.Fatalf("%v in one order, %v in the other", a.Action, b.Action)
		}
	})
}

func TestAGuessedKindNeverLoosens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSubject(t)
		p := compiled(t, drawRules(t, "agent"), drawRules(t, "file"), rapid.SliceOfN(rapid.Custom(drawGrant), 0, 2).Draw(t, "grants"))
		none, guess := *s, *s
		none.Kind, none.KindBound = "", false
		guess.KindBound = false
		// A guess may only tighten what the rules say about the tool without it.
		a, b := Evaluate(p, Context{}, &none), Evaluate(p, Context{}, &guess)
		if b.Action > a.Action || runs(b) && !runs(a) {
			t.Fatalf("the guess %s loosens %v to %v", s.Kind, a.Action, b.Action)
		}
	})
}

// TestABareNameOfAGuessedShellLiftsNoDeny checks that a rule which matches a command by its bare name, because the tool
// is guessed to be a shell, lifts no earlier deny.
func TestABareNameOfAGuessedShellLiftsNoDeny(t *testing.T) {
	rules := []Rule{{Tool: "*", Pattern: "*", Action: Deny}, {Tool: "*", Pattern: "a", Action: Confirm}}
	p, err := NewPolicy(nil, rules, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		value string
		bound bool
		want  Action
	}{{"a b", false, Deny}, {"a b", true, Confirm}, {"a", false, Confirm}} {
		s := &Subject{Tool: "fs_read", Kind: "shell_exec", KindBound: test.bound, Decides: Form{test.value}}
		if f := Evaluate(p, Context{}, s); f.Action != test.want {
			t.Errorf("%q, bound %v: %v, want %v", test.value, test.bound, f.Action, test.want)
		}
	}
}

func TestAPlainNameNeverLoosens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSubject(t)
		p := compiled(t, drawRules(t, "agent"), drawRules(t, "file"), rapid.SliceOfN(rapid.Custom(drawGrant), 0, 2).Draw(t, "grants"))
		doubled := *s
		doubled.Plain = rapid.SampledFrom(someTools).Draw(t, "plain")
		a, b := Evaluate(p, Context{}, s), Evaluate(p, Context{}, &doubled)
		if b.Action > a.Action || runs(b) && !runs(a) {
			t.Fatalf("the name %s loosens %v to %v", doubled.Plain, a.Action, b.Action)
		}
	})
}

// reference is lastMatch without an index: it tries every rule from the first to the last.
func reference(v *view, s *Subject, args *pattern.Arguments) Action {
	action := Ask
	for _, r := range v.rules {
		switch {
		case !r.matches(s.Decides, s, args):
		case r.Action == Allow && (r.pattern.Overreaches(s.Decides, s.Head) || !r.weak && uncovered(r.pattern, s) != ""):
		case r.weak:
			action = action.Stricter(r.Action.Stricter(Ask))
		default:
			action = r.Action
		}
	}
	return action
}

func TestLastMatchIsTheFoldOverAllRules(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSubject(t)
		p := compiled(t, drawRules(t, "agent"), drawRules(t, "file"), nil)
		v := p.viewOf(s)
		args := pattern.Arguments{Raw: s.Arguments}
		if got, want := v.lastMatch(len(v.rules), &Context{}, s.Decides, s, true, &args).action, reference(v, s, &args); got != want {
			t.Fatalf("%v, want %v", got, want)
		}
	})
}

func TestExplainAgreesWithEvaluate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSubject(t)
		p := compiled(t, drawRules(t, "agent"), drawRules(t, "file"), rapid.SliceOfN(rapid.Custom(drawGrant), 0, 3).Draw(t, "grants"))
		f, e := Evaluate(p, Context{}, s), Explain(p, Context{}, s)
		if e.Finding.Action != f.Action || e.Finding.Rule != f.Rule || e.Finding.Grant != f.Grant {
			t.Fatalf("Explain finds %v, Evaluate %v", e.Finding, f)
		}
		won := slices.IndexFunc(e.Matches, func(m Match) bool { return m.Won })
		if (won >= 0) != (f.Rule != nil) || won >= 0 && e.Matches[won].Rule != f.Rule {
			t.Fatalf("the winner among %d matches is %d, the rule is %v", len(e.Matches), won, f.Rule)
		}
		if f.Grant != nil && !slices.ContainsFunc(e.Grants, func(g GrantMatch) bool { return g.Grant == f.Grant && g.Obstacle == "" }) {
			t.Fatalf("the grant %v is not among the explained ones", f.Grant)
		}
	})
}
