package gate

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"callgate/gate/internal/companions"
	"callgate/gate/internal/explain"
	"callgate/gate/internal/facts"
	"callgate/gate/internal/fingerprint"
	"callgate/gate/internal/floor"
	"callgate/gate/internal/past"
	"callgate/gate/internal/provenance"
	"callgate/gate/tools"
	"callgate/internal/gitfiles"
	"callgate/internal/secrets"
	"callgate/permissions"
)

// Judge holds everything that decides about a call at one moment. It is a value: the live gate makes one for every
// call, and `callgate check` makes one from a command line. The zero value denies every call.
type Judge struct {
	Policy         *permissions.Policy // nil if the rules cannot be read: then everything is denied
	PolicyError    error               // why Policy is nil
	Autonomy       Autonomy
	Mode           Mode
	AskEscalations bool // ESCALATION asks a person instead of being denied
	Protected      *Protected
	Terminal       *Terminal                                // nil if the terminal allow-list is not used
	Off            bool                                     // the gate is off: rules, levels and marks do not apply
	Changed        []string                                 // build manifests that the session changed and nobody has looked at
	Unkept         func(Call, *tools.Analysis) (why string) // returns why what the call writes could not be restored, or ""; may be nil
	Advisors       []Advisor                                // other policy engines, which can deny and ask
	Current        func() error                             // returns why rules and freezes may be stale; then nothing runs; nil if they never are
	Freezer        Freezing                                 // what people have frozen; nil freezes nothing
	secrets        *secrets.Memory                          // credentials that results of the session held; nil knows none
	flow           *provenance.Session                      // where the session's values come from; nil asks nothing about it
	unlearned      *atomic.Bool                             // whether secrets and flow lack a result; may be nil
	Burst          Limits                                   // how many irreversible calls run unasked
	Lost           int                                      // how much the session has lost for good within the window of Burst
	Session        *permissions.Circumstances               // what rule conditions look at; nil if nothing is known
	ran            *past.Calls                              // the calls behind Session; RememberCalls sets it
	Now            time.Time
}

// Judge returns Allow, Deny, or Ask if a person has to decide. The order of the three phases is a security property:
// every denial is looked at before anything can release the call, and every mark before any grant, level or rule can.
func (j *Judge) Judge(call Call) Verdict {
	facts := call.facts()
	v := Verdict{Analysis: tools.Analyze(facts.Call)}
	if v, denied := j.denials(v, call); denied {
		return v
	}
	if j.Off && tools.OpensSandbox(call.Tool.Kind) {
		return v.deny(DecidedDenied, "gate:off", "", "The gate is off: nobody can be asked.")
	}
	if j.Off {
		return v.allow(DecidedAutoApproved, "gate:off", "", "The gate is off.")
	}
	v.Findings = j.findings(v.Analysis, call)
	if v, denied := j.ruleDenials(v); denied {
		return v
	}
	if rule, why := j.asker(call).Denial(v.judged(), facts); rule != nil {
		return v.deny(DecidedDenied, "rule", rule.String(), why)
	}
	v, denied := j.advised(v, call)
	if denied {
		return v
	}
	if v.Marks = j.marks(&v, call); len(v.Marks) > 0 {
		v = v.ask("mark", v.Marks[0].Code, v.Marks[0].Text)
	} else {
		v = j.release(v, call)
	}
	if v.Action == permissions.Ask && call.Unasked {
		return v.deny(DecidedDenied, v.By, v.Rule, v.Reason)
	}
	if v.Action == permissions.Ask && j.Mode == ModeNoPrompt {
		return v.deny(DecidedDenied, "mode:no-prompt", v.Rule, v.Reason+" Nobody can be asked in mode no-prompt.")
	}
	return v
}

// denials runs the part of phase 1 that does not depend on rules. It reports whether it denied the call.
func (j *Judge) denials(v Verdict, call Call) (Verdict, bool) {
	if v.Analysis.Refuse != "" {
		return v.deny(DecidedDenied, "callgate", "malformed", v.Analysis.Refuse), true
	}
	if why := j.Protected.touched(call, v.Analysis); why != "" {
		return v.deny(DecidedDenied, "callgate", "protected", why), true
	}
	if why := j.current(); why != "" {
		return v.deny(DecidedDenied, "callgate", "cluster", why), true
	}
	if by := call.Before.DeniedBy; by != "" {
		return v.deny(DecidedDenied, "hook:"+by, "hook", call.Before.Reason), true
	}
	if why := j.frozen(call, v.Analysis); why != "" {
		return v.deny(DecidedDenied, ByFreeze, "", why), true
	}
	if j.Off {
		return v, false
	}
	if unknown, ok := errors.AsType[*unknownAgent](j.PolicyError); ok && j.Policy == nil {
		return v.deny(DecidedDenied, "callgate", "unknown agent", fmt.Sprintf("The call does not run: %v. Agents are files agents/NAME.md in callgate's data directory, read at the start; a client adds one with agent_add.", unknown)), true
	}
	if j.Policy == nil {
		return v.deny(DecidedDenied, "callgate", "rules unreadable", fmt.Sprintf("The rules cannot be read, so nothing runs: %v.", j.PolicyError)), true
	}
	if j.Mode == ModeAutoDeny {
		return v.deny(DecidedDenied, "mode:auto-deny", "", "Mode auto-deny lets no tool run."), true
	}
	if why := j.Terminal.denies(v.Analysis); why != "" {
		return v.deny(DecidedDenied, "terminal", "allowlist", why), true
	}
	if v.Analysis.Risk == permissions.Escalation && !j.AskEscalations {
		return v.deny(DecidedRejected, "risk", "ESCALATION", "The call gains privileges (ESCALATION), which is always refused."), true
	}
	return v, false
}

// asker returns an Asker about where the values of the call come from and where they go.
func (j *Judge) asker(call Call) *provenance.Asker {
	return &provenance.Asker{Policy: j.Policy, Session: j.flow, Secrets: j.secrets, Dir: call.Place.Dir, Now: j.Now}
}

// findings evaluates the rules for every subject.
func (j *Judge) findings(a *tools.Analysis, call Call) []permissions.Finding {
	from := permissions.Context{Server: call.Tool.Server, Workspace: call.Place.Dir, Now: j.Now, Graded: j.Autonomy != AutonomyNone, Session: j.circumstances(call)}
	findings := make([]permissions.Finding, len(a.Subjects))
	bound := j.Policy.BindsContent()
	carries, unsaid := j.asker(call).Facts(call.facts(), a)
	for i := range a.Subjects {
		a.Subjects[i].Carries, a.Subjects[i].From = carries, unsaid
		if s := &a.Subjects[i]; bound && len(s.Runs) > 0 {
			s.Content = fingerprint.Files(s.Runs)
		}
		findings[i] = permissions.Evaluate(j.Policy, from, &a.Subjects[i])
	}
	return findings
}

// circumstances returns what rule conditions look at. It reads the branch for each call if a rule asks for it, because
// the branch can change during a session.
func (j *Judge) circumstances(call Call) *permissions.Circumstances {
	if j.Session == nil || j.Session.Branch != "" || !j.Policy.AsksBranch() {
		return j.Session
	}
	c := *j.Session
	c.Branch = gitfiles.Branch(call.Place.Dir)
	return &c
}

// ruleDenials runs the part of phase 1 that the rules decide: any subject's deny is final.
func (j *Judge) ruleDenials(v Verdict) (Verdict, bool) {
	if len(v.Findings) == 0 {
		return v.deny(DecidedDenied, "callgate", "no subject", "The call has nothing that could be judged."), true
	}
	for i := range v.Findings {
		if f := &v.Findings[i]; f.Action == permissions.Deny {
			return v.deny(DecidedDenied, "rule", explain.Rule(f), explain.Denial(f)), true
		}
	}
	return v, false
}

// marks runs phase 2. It returns why only a person can release the call, whatever rules, grants and levels say. A grant
// for reading a folder with its denied files removes that folder's mark and releases the subject that reads it.
func (j *Judge) marks(v *Verdict, call Call) []tools.Mark {
	facts := call.facts()
	marks := slices.Concat(v.Analysis.Marks, floor.Marks(facts, v.Analysis), call.Before.Marks, v.advice)
	if call.Redefined != nil {
		marks = append(marks, tools.Mark{Code: "definition-changed", Text: call.Redefined.Why})
	}
	for i := range v.Findings {
		if f := &v.Findings[i]; f.Action == permissions.Confirm && f.Rule != nil && f.Rule.Approvers > 0 {
			v.Approvers = max(v.Approvers, f.Rule.Approvers)
			marks = append(marks, tools.Mark{Code: "approvers", Text: fmt.Sprintf("The rule %s wants %d persons to approve, each with a credential of their own.", explain.Rule(f), f.Rule.Approvers)})
		} else if f.Action == permissions.Confirm {
			marks = append(marks, tools.Mark{Code: "confirm", Text: fmt.Sprintf("The rule %s wants a person to confirm every time.", explain.Rule(f))})
		}
	}
	if v.Analysis.Risk == permissions.Escalation {
		marks = append(marks, tools.Mark{Code: "escalation", Text: "The call gains privileges."})
	}
	if j.Unkept != nil {
		if why := j.Unkept(call, v.Analysis); why != "" {
			marks = append(marks, tools.Mark{Code: MarkUnkept, Text: why})
		}
	}
	asker, judged := j.asker(call), v.judged()
	marks = append(marks, asker.Marks(judged, facts)...)
	if m, ok := past.ManifestMark(j.Changed, v.Analysis); ok {
		marks, v.builds = append(marks, m), j.Changed
	}
	if m, ok := past.LossMark(j.Lost, past.LostBy(facts.Call, v.Analysis), j.Burst.Irreversible, j.Burst.IrreversibleWithin); ok {
		marks = append(marks, m)
	}
	if m, ok := asker.SecretMark(facts, v.Analysis); ok {
		marks = append(marks, m)
	}
	if j.unlearned != nil && j.unlearned.Load() { // after the marks above, which wait for results that are being learned
		marks = append(marks, tools.Mark{Code: "unlearned", Text: "callgate failed to read a result of this session, so it does not know whether the call carries something from it. New sessions are not affected."})
	}
	if m, ok := j.addressMark(v.Analysis); ok {
		marks = append(marks, m)
	}
	below := j.beneathMarks(v, call)
	if len(marks) > 0 {
		v.offers = nil // the grant would not release the call
	}
	if marks = append(marks, below...); v.offers == nil {
		v.offers = asker.Offers(judged, facts, marks)
	}
	return marks
}

// addressMark marks a command that may connect to the approvers' address, or end what listens there.
func (j *Judge) addressMark(a *tools.Analysis) (tools.Mark, bool) {
	if j.Protected == nil || len(a.Commands) == 0 || len(j.Protected.allPorts()) == 0 {
		return tools.Mark{}, false
	}
	if companions.Ends(a, j.Protected.allPorts()) {
		return tools.Mark{Code: floor.Mark, Text: "The floor: the call ends what listens at the address that approvals are given at."}, true
	}
	for _, c := range a.Commands {
		if word := companions.UnknownAddress(c); word != "" {
			return tools.Mark{Code: "unknown-address", Text: fmt.Sprintf("Where %q connects to through %s cannot be told.", tools.Visible(c.Argv[0]), tools.Visible(word))}, true
		}
	}
	return tools.Mark{}, false
}

// deniesReading reports whether the rules deny reading the file at the absolute path.
func (j *Judge) deniesReading(path string, call Call) bool {
	if j.Protected.Holds(path) {
		return true
	}
	s := tools.ReadSubject(path, call.Place)
	return permissions.Evaluate(j.Policy, permissions.Context{Now: j.Now, Session: j.Session}, &s).Action == permissions.Deny
}

// release runs phase 3: every subject must be released, and the strictest one decides. A grant releases first; then the
// autonomy level if one is set, else the rules.
func (j *Judge) release(v Verdict, call Call) Verdict {
	if asked, ok := j.held(v, call); ok {
		return asked
	}
	trusted, sends := false, provenance.SendsOut(call.facts(), v.Analysis)
	out := v
	for i := range v.Findings {
		f := &v.Findings[i]
		switch {
		case f.Subject.DeniesOnly && (f.Action != permissions.Ask || j.Autonomy != AutonomyNone):
		case f.Grant != nil:
			trusted = true
			out = out.allow(DecidedTrusted, "grant", f.Grant.String(), "")
		case j.Autonomy != AutonomyNone && j.Autonomy.runs(f.Subject.Risk, v.Analysis.Category, sends && !permissions.Network.Exceeds(f.Subject.Risk)):
			if !trusted {
				out = out.allow(DecidedAutoApproved, "autonomy:"+j.Autonomy.String(), explain.Rule(f), "")
			}
		case j.Autonomy == Supervised && sends && f.Subject.Risk == permissions.Network:
			return j.asks(v, "autonomy:"+j.Autonomy.String(), "", fmt.Sprintf("Data goes out, which asks under autonomy %s.", j.Autonomy))
		case j.Autonomy != AutonomyNone:
			return j.asks(v, "autonomy:"+j.Autonomy.String(), "", fmt.Sprintf("%s risk asks under autonomy %s.", f.Subject.Risk, j.Autonomy))
		case f.Action == permissions.Allow || j.Terminal.passes(&f.Subject):
			if !trusted {
				out = out.allow(DecidedAutoApproved, "rule", explain.Rule(f), "")
			}
		default:
			return j.asks(v, explain.AskedBy(f), explain.Rule(f), explain.Ask(f))
		}
	}
	if out.Action != permissions.Allow {
		return v.deny(DecidedDenied, "callgate", "no subject", "The call has nothing that a rule could allow.")
	}
	return out
}

// held asks a person about subjects that neither a level nor a rule for all tools can release; ok is false for none.
func (j *Judge) held(v Verdict, call Call) (asked Verdict, ok bool) {
	if store := j.opensStore(v.Findings); store != "" {
		return j.asks(v, "autonomy:"+j.Autonomy.String(), "", fmt.Sprintf("%s contains credentials: under autonomy %s, opening it is more than reading.", tools.Visible(store), j.Autonomy)), true
	}
	if f := opensSandbox(v.Findings); f != nil {
		return v.ask(explain.AskedBy(f), explain.Rule(f), "The sandbox of the server does not have it."), true
	}
	if j.Autonomy == Guided {
		if why := j.asker(call).Unguided(v.judged(), call.facts()); why != "" {
			return j.asks(v, "autonomy:GUIDED", "", why), true
		}
	}
	return v, false
}

// opensSandbox returns the subject that would widen a sandbox without a rule or grant for sandboxes; nil if there is
// none. No level, mode or rule for all tools may release it.
func opensSandbox(findings []permissions.Finding) *permissions.Finding {
	for i := range findings {
		f := &findings[i]
		kind := f.Subject.Kind
		if !tools.OpensSandbox(kind) || f.Grant != nil && strings.HasSuffix(f.Grant.Tool, kind) ||
			f.Action == permissions.Allow && f.Rule != nil && strings.HasSuffix(f.Rule.Tool, kind) {
			continue
		}
		return f
	}
	return nil
}

// opensStore returns a credential store that the call opens without a grant, if the level asks about stores. It returns
// "" if there is none.
func (j *Judge) opensStore(findings []permissions.Finding) string {
	if !j.Autonomy.guardsStores() {
		return ""
	}
	for i := range findings {
		f := &findings[i]
		if f.Grant != nil || !facts.FileKind(f.Subject.Kind) {
			continue
		}
		for _, form := range append(f.Subject.Also[:len(f.Subject.Also):len(f.Subject.Also)], f.Subject.Decides) {
			for _, spelling := range form {
				if store := tools.CredentialStore(spelling); store != "" && !facts.Template(store) {
					return store
				}
			}
		}
	}
	return ""
}

// asks ends phase 3 for a call that needs a person. In mode auto-approve it allows the call, unless the level is
// MANUAL.
func (j *Judge) asks(v Verdict, by, rule, reason string) Verdict {
	if j.Mode == ModeAutoApprove && j.Autonomy != Manual {
		return v.allow(DecidedAutoApproved, "mode:auto-approve", rule, "")
	}
	return v.ask(by, rule, reason)
}
