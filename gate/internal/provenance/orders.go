package provenance

import (
	"bytes"

	"callgate/internal/lazyregexp"
)

// orders reports whether a result reads as if it told the model what to do. It is a sieve that only adds questions: what it
// lets pass is not proven harmless. The result comes as it is, in JSON.
func orders(result []byte) bool {
	result = result[:min(len(result), 1<<20)]
	for _, word := range orderWords {
		for rest, at := result, 0; ; {
			i := bytes.Index(rest[at:], word)
			if i < 0 {
				break
			}
			i += at
			if ordering.Match(rest[max(0, i-160):min(len(rest), i+240)]) {
				return true
			}
			at = i + len(word)
		}
	}
	return false
}

// orderWords are what one of them says, in the spellings that occur: most results hold none.
var orderWords = func() (list [][]byte) {
	for _, w := range []string{"ssistant", "he user", "nstruction", "SYSTEM", "System note", "System:", "<important", "<IMPORTANT", "lease call", "lease visit", "lease use", "lease run", "lease send", "You must", "you must", "ool call"} {
		list = append(list, []byte(w))
	}
	return list
}()

// ordering is what orders to a model look like.
var ordering = lazyregexp.New(`(?i)(?:ignore|disregard|forget|override) (?:all |any |the |your |my )*(?:previous|prior|earlier|above|other) (?:instructions?|rules|messages)|\b(?:system|important|urgent|new|hidden|admin) (?:note|message|instructions?|prompt|directive|override)\b|\[(?:system|inst|admin)\]|<\s*/?(?:important|system|instructions?)\b|\b(?:you (?:must|should|need to|have to|are required to)|please|now|first|then)[ ,:]{1,3}(?:also |first |immediately |immediate )?(?:call|invoke|use|run|execute|fetch|visit|open|browse|send|forward|post|upload|share|transfer|pay|invite|delete|reply|email|mail)\b[^.]{0,80}(?:\b(?:tool|function|url|https?:|www\.|link|webpage|page)\b|@|://)|\b(?:ai|llm|language model) (?:assistants?|agents?|models?)\b[^.]{0,60}\b(?:must|should|have to|please|need to)\b|\bto complete (?:the|this|your) (?:operation|task|request)\b|do not (?:tell|inform|mention|notify|ask) (?:this to )?the user`)
