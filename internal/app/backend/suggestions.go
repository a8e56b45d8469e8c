package backend

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"sync"
	"time"

	"callgate/audit"
	"callgate/internal/companion"
	"callgate/internal/report"
	"callgate/internal/suggest"
)

const (
	suggestBack  = 7 * 24 * time.Hour
	suggestAgain = 5 * time.Minute // how long a result is shown, unless people answer enough questions meanwhile
	worthPerDay  = 3               // questions saved on each day with a decision
)

// suggestions caches what the trail suggested last. One request computes it while the others wait.
type suggestions struct {
	mu     sync.Mutex
	at     time.Time
	report *suggest.Report
	memory suggest.Memory
}

func (s *suggestions) look(b *Backend, fresh bool) (*suggest.Report, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.report != nil && !fresh && time.Since(s.at) < suggestAgain && suggest.Answered(b.Config.DataDir, s.at) < worthPerDay {
		return s.report, nil
	}
	checker, err := b.Checker()
	if err != nil {
		return nil, err
	}
	began := time.Now()
	report, err := suggest.Suggest(checker, suggest.Options{Since: began.Add(-suggestBack), Remembered: &s.memory})
	if report == nil { // what cannot be read is left to audit verify
		return nil, err
	}
	s.report, s.at = report, began
	return report, nil
}

// trailPart serves what the audit trail tells about rules.
type trailPart struct{ b *Backend }

func (p trailPart) Suggest() (companion.SuggestionsView, error) {
	report, err := p.b.suggestions.look(p.b, false)
	if err != nil {
		return companion.SuggestionsView{}, err
	}
	view := companion.SuggestionsView{
		Days: report.Days, Questions: report.Questions, Saved: report.Saved,
		Worth: len(report.Proposals) > 0 && report.Saved >= worthPerDay*report.Days,
	}
	for _, p := range report.Proposals {
		shown := companion.SuggestionView{
			ID: suggestionID(p), Tool: p.Tool, Pattern: p.Pattern, Ceiling: p.Ceiling, Server: p.Server, Workspace: p.Workspace, Saves: p.Saves, Examples: p.Examples,
		}
		shown.Opens.Everyday, shown.Opens.Operands, shown.Opens.Hosts = p.Opens.Everyday, p.Opens.Operands, p.Opens.Hosts
		view.Proposals = append(view.Proposals, shown)
	}
	return view, nil
}

// Report returns what "callgate report" prints, for all workers. What cannot be read is left to audit verify.
func (p trailPart) Report(since time.Time) (any, error) {
	made, _ := report.Make(p.b.Config.DataDir, report.Options{Since: since})
	return made, nil
}

func suggestionID(p *suggest.Proposal) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", []string{p.Tool, p.Pattern, p.Ceiling, p.Server, p.Workspace}))
	return hex.EncodeToString(sum[:8])
}

func (p trailPart) TakeSuggestions(ids []string, who audit.Author) error {
	report, err := p.b.suggestions.look(p.b, true)
	if err != nil {
		return err
	}
	chosen := *report
	chosen.Proposals = nil
	for _, p := range report.Proposals {
		if slices.Contains(ids, suggestionID(p)) {
			chosen.Proposals = append(chosen.Proposals, p)
		}
	}
	if len(chosen.Proposals) < len(ids) {
		return companion.ErrNoSuggestion
	}
	err = p.b.change("", who, chosen.Summary(), func() error {
		return p.b.Store.AddGrants(chosen.Grants(who.By, time.Now()))
	})
	if err == nil {
		_, err = p.b.suggestions.look(p.b, true)
	}
	return err
}
