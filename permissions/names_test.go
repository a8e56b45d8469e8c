package permissions

import (
	"encoding/json"
	"testing"
)

func TestTheZeroValuesAreStrict(t *testing.T) {
	var a Action
	var r Risk
	if a != Deny || r != Unknown {
		t.Errorf("zero values are %v and %v", a, r)
	}
	if !r.Exceeds(Network) || r.Exceeds(Destructive) {
		t.Error("an unknown risk is not between NETWORK and DESTRUCTIVE")
	}
}

func TestActionsAndRisksKeepTheirNames(t *testing.T) {
	for _, a := range []Action{Deny, Confirm, Ask, Allow} {
		var back Action
		text, err := json.Marshal(a)
		if err == nil {
			err = json.Unmarshal(text, &back)
		}
		if err != nil || back != a {
			t.Errorf("%v is written %s and read %v, %v", a, text, back, err)
		}
	}
	for _, r := range []Risk{Unknown, ReadOnly, BuildTest, Write, Network, Destructive, Escalation} {
		var back Risk
		text, err := json.Marshal(r)
		if err == nil {
			err = json.Unmarshal(text, &back)
		}
		if err != nil || back != r {
			t.Errorf("%v is written %s and read %v, %v", r, text, back, err)
		}
	}
	var a Action
	if err := json.Unmarshal([]byte(`"Allow"`), &a); err == nil || a != Deny {
		t.Errorf("an unknown action reads as %v, %v", a, err)
	}
	var r Risk
	if err := json.Unmarshal([]byte(`"low"`), &r); err == nil || r != Unknown {
		t.Errorf("an unknown risk reads as %v, %v", r, err)
	}
}

func TestRisksAreOrdered(t *testing.T) {
	order := []Risk{ReadOnly, BuildTest, Write, Network, Unknown, Destructive, Escalation}
	labels := []string{"low", "low", "medium", "medium", "high", "high", "critical"}
	for i, a := range order {
		if a.Label() != labels[i] {
			t.Errorf("%v is %s, want %s", a, a.Label(), labels[i])
		}
		for j, b := range order {
			if a.Exceeds(b) != (i > j) || a.Worse(b) != order[max(i, j)] {
				t.Errorf("%v exceeds %v: %v, the worse is %v", a, b, a.Exceeds(b), a.Worse(b))
			}
		}
	}
}

func TestTheStricterActionWins(t *testing.T) {
	order := []Action{Deny, Confirm, Ask, Allow}
	for i, a := range order {
		for j, b := range order {
			if got := a.Stricter(b); got != order[min(i, j)] {
				t.Errorf("the stricter of %v and %v is %v", a, b, got)
			}
		}
	}
}
