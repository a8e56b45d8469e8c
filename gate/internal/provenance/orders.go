package provenance

import (
	"cmp"
	"slices"
	"strings"

	"callgate/internal/lazyregexp"
	"callgate/internal/textscan"
)

// orders reports whether a result, in raw JSON, reads as if it told the model what to do. It can only add questions: a
// result that it lets pass is not proven harmless.
func orders(result []byte) bool {
	text := textscan.Lower(textscan.String(result[:min(len(result), 1<<20)]))
	words := orderWords
	if len(text) >= textscan.Long {
		words = wordsIn(text)
	}
	var near []span
	for _, word := range words {
		mine := len(near)
		for at := 0; ; {
			i := strings.Index(text[at:], word)
			if i < 0 {
				break
			}
			from, to := max(0, at+i-160), min(len(text), at+i+240)
			if last := len(near) - 1; last >= mine && from <= near[last].to {
				near[last].to = to
			} else {
				near = append(near, span{from, to})
			}
			at += i + len(word)
		}
	}
	slices.SortFunc(near, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	for i := 0; i < len(near); {
		from, to := near[i].from, near[i].to
		for i++; i < len(near) && near[i].from <= to; i++ {
			to = max(to, near[i].to)
		}
		if ordering.MatchString(unescaped.Replace(text[from:to])) {
			return true
		}
	}
	return false
}

// span is a part of a text that needs a closer look.
type span struct{ from, to int }

// wordsIn returns the orderWords that a long text may contain. Only its stack has room for the grams.
func wordsIn(text string) (words []string) {
	var grams textscan.Grams
	grams.Of(text)
	spaced := strings.IndexByte(text, ' ') >= 0 // encoded text contains any three letters, and no space
	for _, word := range orderWords {
		if (spaced || strings.IndexByte(word, ' ') < 0) && grams.MayHold(word) {
			words = append(words, word)
		}
	}
	return words
}

// unescaped undoes the JSON escapes that can stand before a word.
var unescaped = strings.NewReplacer(`\n`, "\n", `\r`, "\r", `\t`, "\t", `\u003c`, "<")

// orderWords lists words in lower case. Every match of ordering contains one, and most results contain none.
var orderWords = []string{
	"assistant", "the user", "instruction", "directive", "system note", "system message", "system prompt", "system:", "[system", "<system",
	"<important", "003cimportant", "important:", "important!", "important note", "important message", "important prompt", "urgent:", "urgent!",
	"urgent message", "urgent note", "attention:", "attention!", "hidden message", "admin message", "admin note", "override",
	"please call", "please visit", "please use", "please run", "please send", "you must", "tool call", "previous messages", "previous rules",
	"from now on", "to complete th", "private ", "secret", "credential", "password", "api key", "[inst]", "[admin]",
}

// ordering matches what looks like orders to a model.
var ordering = lazyregexp.New(`(?i)(?:ignore|disregard|forget|override) (?:all |any |the |your |my )*(?:previous|prior|earlier|above|other) (?:instructions?|rules|messages)|\b(?:system|important|urgent|new|hidden|admin) (?:note|message|instructions?|prompt|directive|override)\b|\b(?:system|important|attention|urgent)\s*[:!]+\s*(?:you|always|never|assistants?|agents?)\b|\bfrom now on,? (?:you|always|never)\b|\[(?:system|inst|admin)\]|<\s*/?(?:important|system|instructions?)\b|(?:\b(?:you (?:must|should|need to|have to|are required to)|now|first|then)|please)[ ,:]{1,3}(?:also |first |immediately |immediate )?(?:call|invoke|use|run|execute|fetch|visit|open|browse|send|forward|post|upload|share|transfer|pay|invite|delete|reply|email|mail)\b[^.]{0,80}(?:\b(?:tool|function|url|https?:|www\.|link|webpage|page)\b|@|://)|(?:\b(?:you (?:must|should|need to|have to)|now|first|then|also)|please)[ ,:]{1,3}(?:also |first )?(?:list|read|find|get|collect|gather|search|look|copy|paste|include|add|append|write|export|dump|reveal|share|send|post)\b[^.]{0,80}\b(?:private (?:repo|channel|file|note|message|key|data|mail)|secrets?\b|credentials?\b|passwords?\b|api keys?\b)|\b(?:(?:ai|llm|language model) (?:assistants?|agents?|models?)|assistants)\b[^.]{0,60}\b(?:must|should|have to|please|need to)\b|\bto complete (?:the|this|your) (?:operation|task|request)\b|\bwhen(?:ever)? the user (?:next )?(?:says|writes|types|replies|answers|thanks)\b|do not (?:tell|inform|mention|notify|ask) (?:this to )?the user`)
