package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"strings"
)

// feedback is what a rejection tells the model, in the result of the call.
const feedback = "Keep the build folder for now."

// decide makes sure that the pending approval is answered: by the program itself, by the person at the terminal, or by
// somebody elsewhere. It returns the decision that it sent, "" if others decided, and the outcome of the call.
func (h *host) decide(ctx context.Context, c *companion, a approval, result <-chan outcome) (string, outcome, error) {
	decision := h.answer
	switch {
	case decision != "":
	case h.terminal:
		var end *outcome
		if decision, end = h.ask(a, result); end != nil {
			return "", *end, nil
		}
	}
	if decision == "" {
		h.waiting(a)
		return "", <-result, nil
	}
	switch err := c.answer(ctx, a, decision); {
	case errors.Is(err, errNotPending):
		decision = ""
	case err != nil:
		return "", outcome{}, err
	default:
		h.answered(decision)
	}
	return decision, <-result, nil
}

// ask asks the person at the terminal until there is a decision, or until the call has ended because somebody else
// decided or nobody did in time. There is no default: an empty line asks again. If the input ends, the decision is "".
func (h *host) ask(a approval, result <-chan outcome) (decision string, end *outcome) {
	words := map[string]string{"y": "approve", "yes": "approve", "n": "reject", "no": "reject"}
	if len(a.Always) > 0 {
		words["a"], words["always"] = "always", "always"
	}
	answers := make(chan string)
	go readDecisions(h.in, words, answers)
	for {
		h.prompt(len(a.Always) > 0)
		select {
		case decision, open := <-answers:
			if decision != "" || !open {
				return decision, nil
			}
		case o := <-result:
			h.answeredElsewhere()
			return "", &o
		}
	}
}

// readDecisions sends one decision per line, "" for a line that is none of words, and closes answers when in ends. It
// ends after the first decision. Until then its read cannot be interrupted.
func readDecisions(in io.Reader, words map[string]string, answers chan<- string) {
	defer close(answers)
	for lines := bufio.NewScanner(in); lines.Scan(); {
		decision := words[strings.ToLower(strings.TrimSpace(lines.Text()))]
		answers <- decision
		if decision != "" {
			return
		}
	}
}
