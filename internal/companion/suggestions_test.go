package companion

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"callgate/audit"
	"callgate/internal/companion/credentials"
)

// fakeSuggestions suggests one grant until it is taken.
type fakeSuggestions struct {
	taken []string
	who   audit.Author
}

func (f *fakeSuggestions) Suggest() (SuggestionsView, error) {
	if f.taken != nil {
		return SuggestionsView{Questions: 9}, nil
	}
	return SuggestionsView{Worth: true, Days: 2, Questions: 9, Saved: 7, Proposals: []SuggestionView{{ID: "s1", Tool: "shell_exec", Pattern: "npm test *", Ceiling: "BUILD_TEST", Saves: 7, Examples: []string{"npm test"}}}}, nil
}

func (f *fakeSuggestions) TakeSuggestions(ids []string, who audit.Author) error {
	if f.taken != nil || !slices.Equal(ids, []string{"s1"}) {
		return ErrNoSuggestion
	}
	f.taken, f.who = ids, who
	return nil
}

func TestSuggestionsAreShownAndTaken(t *testing.T) {
	r := start(t, newFakeBackend())
	f := &fakeSuggestions{}
	r.options.Backend.Rules, r.options.Backend.Suggestions = &fakeRules{}, f
	var view SuggestionsView
	response, body := r.do(t, credentials.Approve, "GET", "/api/rules/suggestions", "")
	if err := json.Unmarshal([]byte(body), &view); err != nil || response.StatusCode != 200 || !view.Worth || len(view.Proposals) != 1 || view.Proposals[0].Pattern != "npm test *" {
		t.Fatalf("%d %v: %s", response.StatusCode, err, body)
	}
	for _, c := range []struct {
		as     credentials.Credential
		body   string
		status int
	}{
		{"", `{"ids":["s1"]}`, 401}, {credentials.Approve, `{"ids":[]}`, 400}, {credentials.Approve, `{"ids":["other"]}`, 409}, {credentials.Approve, `{"ids":["s1"]}`, 200}, {credentials.Approve, `{"ids":["s1"]}`, 409},
	} {
		if response, body := r.do(t, c.as, "POST", "/api/rules/suggestions", c.body); response.StatusCode != c.status {
			t.Errorf("%s: %d %s, want %d", c.body, response.StatusCode, body, c.status)
		}
	}
	if f.who.By == "" {
		t.Error("nobody took it")
	}
	if _, body := r.do(t, credentials.Approve, "GET", "/api/rules/suggestions", ""); !strings.Contains(body, `"proposals":[]`) {
		t.Errorf("after it was taken: %s", body)
	}
}
