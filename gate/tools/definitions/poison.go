package definitions

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"sync"
	"unicode"

	"github.com/go-json-experiment/json"
	"golang.org/x/text/unicode/norm"

	"callgate/gate/tools/internal/wording"
	"callgate/gate/tools/workspace"
	"callgate/internal/jsonx"
	"callgate/internal/lazyregexp"
)

// Poisoned returns why a new definition has to wait for a person, or "" if it reads like others. A definition tells
// what a tool does. Most attacks on MCP hosts begin with a definition that also tells the model what to do, what to
// keep from its user, or where credentials are. A definition that passes is not proven harmless.
func Poisoned(definition []byte) (why string) {
	key := sha256.Sum256(definition)
	verdicts.Lock()
	why, known := verdicts.of[key]
	verdicts.Unlock()
	if known {
		return why
	}
	why = poisoned(definition)
	verdicts.Lock()
	defer verdicts.Unlock()
	if len(verdicts.of) >= maxVerdicts {
		clear(verdicts.of)
	}
	verdicts.of[key] = why
	return why
}

// verdicts caches what Poisoned returned: every session lists the same tools, and a look takes 0.1 ms.
var verdicts = struct {
	sync.Mutex
	of map[[sha256.Size]byte]string
}{of: map[[sha256.Size]byte]string{}}

const maxVerdicts = 16384

func poisoned(definition []byte) (why string) {
	if hidden := Hidden(definition); hidden != "" {
		return "The tool's definition has characters that people cannot see (" + hidden + ")."
	}
	name := nameIn(definition)
	for text := range jsonx.Strings(definition) {
		plain := norm.NFKC.String(text)
		if word := mixedScript(plain); word != "" {
			return fmt.Sprintf("The tool's definition writes %s in letters of several scripts, which look alike.", wording.Quote(word))
		}
		plain = strings.Join(strings.Fields(strings.NewReplacer("_", " ", "’", "'", "*", "").Replace(plain)), " ")
		for _, p := range poisons {
			if !strings.ContainsAny(plain, " <[|/") && !strings.Contains(strings.ToLower(plain), "exfiltrat") {
				break // a single word, as most texts of a definition are, says none of this
			}
			if at := p.says.FindStringIndex(plain); at != nil && !forbids.MatchString(plain[max(0, at[0]-24):at[0]]) && !(p.family && ofItsFamily(plain[at[0]:at[1]], name)) {
				return fmt.Sprintf("The tool's definition %s: %s.", p.what, wording.Quote(wording.Bounded(strings.TrimSpace(plain[at[0]:at[1]]), wording.MaxField)))
			}
		}
		if store := workspace.CredentialStore(text); store != "" && !mentions(text, store) {
			return fmt.Sprintf("The tool's definition names %s, where credentials are kept.", wording.Quote(store))
		}
	}
	return ""
}

// poisons lists what a definition has no business to say. The text comes as one line, with blanks for underscores.
var poisons = []struct {
	what   string
	says   *lazyregexp.Regexp
	family bool // a server may say it of its own tools
}{
	{"uses tags that imitate another speaker", lazyregexp.New(`(?i)<\s*/?\s*(?:important|system|hidden|secret|instructions?|admin|critical|assistant|developer|s|sys|inst|prompt|rules?|override|directive|meta|internal)\b[^>]{0,40}>|\[/?(?:INST|SYSTEM|ADMIN|HIDDEN|IMPORTANT INSTRUCTIONS?)\]|<!--|<\|[a-z ]+\|>|(?:^|[.:!] )#+ ?(?:system|hidden|secret) `), false},
	{"wants something kept from the user", lazyregexp.New(`(?i)\b(?:(?:do not|don't|never|must not|should not|shouldn't|without|avoid|no need to|not necessary to|refrain from|not to|not) (?:ever |even |explicitly |otherwise |need to |have to )?(?:tell|telling|mention|mentioning|inform|informing|notify|notifying|reveal|revealing|disclose|disclosing|alert|alerting|show|showing|display|displaying|explain|explaining|report|reporting|discuss|discussing|let|letting|bother|bothering|worry|surface|surfacing|output|acknowledge|acknowledging)\b[^.]{0,40}\b(?:the users?|users?|anyone|anybody|to them|human|people|this (?:step|instruction|note|message|tool|fact|to)|these (?:steps|instructions)|them know|any of this|it to)\b|(?:keep|kept|stay|remain) (?:this |it |that )?(?:secret|hidden|invisible|confidential|between us|quiet)|(?:do not|don't|never|without|no need to) (?:ask|asking) (?:the )?(?:users?|anyone|human|people|them) (?:for|to (?:confirm|approve|agree)|before|first|about)|without (?:the )?users?'?s? (?:knowledge|knowing|noticing|consent|awareness|approval|confirmation)|(?:silently|secretly|covertly|discreetly|quietly) (?:send|read|copy|add|include|forward|call|use|run|execute|upload|append|pass|include|collect|fetch|invoke|bcc|post|write|store)|user (?:must|should|need|does|will) not (?:know|see|notice|be (?:told|informed|aware|bothered))|(?:hide|conceal) (?:this|it|the|these)\b)`), false},
	{"orders the model about", lazyregexp.New(`(?i)\b(?:ignore|disregard|forget|override|bypass) (?:all |any |the |your |every |these )*(?:previous|prior|earlier|above|other|former|existing|safety|system|security|instructions|guardrails|guidelines|rules|restrictions)\b|\byou are now\b|\b(?:new|updated|real|actual|hidden|secret) (?:system )?(?:instructions?|directives?|prompt) ?:|\b(?:system|developer) (?:prompt|message|override|instruction)s?\b.{0,30}(?:reveal|print|include|pass|send|output|:)|(?:reveal|print|include|pass|send|output|repeat|copy|append) (?:me )?(?:the |your |its )?(?:full |entire |complete |whole )?(?:system prompt|(?:chat|conversation|message) (?:history|so far|transcript|log)|(?:previous|prior|preceding) (?:messages|conversation|tool (?:calls|results|outputs)))|\b(?:full|entire|complete|whole) (?:conversation|chat|message)s? (?:history|log|transcript|so far)?`), false},
	{"makes other calls depend on it", lazyregexp.New(`(?i)\b(?:before|after|prior to|whenever|when|every time|each time|if)(?: you)?(?: (?:are|is))?(?: (?:use|using|call|calling|invoke|invoking|invoked|run|running|execute|executing|do|doing|perform|performing|answer|answering|respond|responding))* (?:the (?:assistant|model|agent|ai) (?:uses?|calls?|invokes?|runs?) )?(?:any|all|every|other|another|each)(?: other| of the)? (?:tools?|functions?|servers?|commands?|requests?|questions?|actions?|operations?|calls?)\b.{0,60}\b(?:must|first|always|call|use|invoke|run|read|is (?:called|invoked|used))|\b(?:must|always|required|mandatory|necessary)\b[^.]{0,50}\b(?:before|prior to|after) (?:using |calling |invoking |running |executing |any )*(?:any|all|every|other|another|each)(?: other)? (?:tools?|functions?|servers?|commands?|operations?|actions?|calls?)\b|\b(?:instead of|rather than) (?:using |calling )?(?:any|all|the) other\b[^.]{0,40}\b(?:tools?|servers?)|\bother (?:\w+ )?(?:tools?|servers?|functions?)\b[^.]{0,60}\b(?:will fail|not work)|\b(?:before|when(?:ever)?|if)\b[^.]{0,60}\b(?:use|using|call|calling|invoke|invoking|run|running)\b[^.]{0,40}\b(?:tool|function)\b[^.]{0,30}\bfirst (?:call|use|invoke|run) (?:this|it)\b`), true},
	{"keeps the model from other tools", lazyregexp.New(`(?i)\bother (?:\w+ )?(?:tools?|servers?|functions?)\b[^.]{0,60}\b(?:deprecated|broken|unsafe|insecure|disabled|compromised|do not|must not|never)|\b(?:never|do not|don't) (?:use|call|invoke) (?:any )?(?:other|the other|another)\b|\b(?:this tool|it) (?:overrides?|supersedes?|replaces? all|takes precedence over)\b|\b(?:tool|it)\b[^.]{0,30}\bhighest priority\b|\bhighest priority (?:tool|function)\b`), false},
	{"asks for secrets or files that its work does not need", lazyregexp.New(`(?i)\b(?:read|open|cat|load|get|fetch|copy|include|pass|provide|send|attach|put|supply|collect|gather|find|list|search for|extract)\b[^.]{0,60}\b(?:private keys?|ssh keys?|id rsa|seed phrase|mnemonic|passwords? (?:file|store|manager|vault)|environment variables|env(?:ironment)? (?:file|vars)|(?:api|access|aws|cloud) (?:keys?|tokens?|credentials?)|mcp\.json|credentials? files?|cookies|keychain|browser (?:history|passwords|profile)|contents? of (?:the )?(?:\.|~|/etc|/home|/root|/proc)|all (?:the )?(?:files|emails|messages|contacts|documents) (?:from|of|in) (?:the )?(?:user|home|other))|\bcontents? of (?:the )?(?:file )?(?:~|\$HOME|/etc/|/home/|/root/|/proc/)|/etc/passwd|\b(?:content|contents|contents? from reading|data|key|keys) (?:from|of) (?:reading )?(?:ssh|id rsa|env|aws|credentials?|private key|home)\b`), false},
	{"has something sent elsewhere", lazyregexp.New(`(?i)\b(?:also|then|first|additionally|always|secretly|must|and|please) (?:be )?(?:send|sent|forward|forwarded|post|posted|upload|uploaded|copy|copied|cc|bcc|bcc'd|transmit|exfiltrate|report|mail|email|emailed|beacon)\b[^.]{0,80}(?:https?://|\b[\w.+-]+@[\w-]+\.\w|\+\d{6,}|\b\d{1,3}(?:\.\d{1,3}){3}\b)|\b(?:change|replace|set|rewrite|redirect|substitute|add|use|swap|modify)\b[^.]{0,50}\b(?:recipients?|bcc|cc|destination|address|payee|account|number|iban|wallet|phone|email)\b[^.]{0,40}(?:https?://|\b[\w.+-]+@[\w-]+\.\w|\+\d{6,}|0x[0-9a-f]{6,}|\b[A-Z]{2}\d{2}[A-Z]{0,4}\d{6,}|\b\d{8,})|\b(?:recipients?|payee|account|iban|destination|wallet) (?:must|should|has to|needs to|is to|will|to) (?:be )?(?:always )?[^.]{0,40}(?:@[\w-]+\.\w|\+\d{6,}|0x[0-9a-f]{6,}|[A-Z]{2}\d{2}[A-Z]{0,4}\d{6,}|\d{8,})|exfiltrat|\bbcc\b[^.]{0,30}@|\bcurl\b[^.]{0,60}(?:-d|\||https?://)|\b(?:wget|nc) [^.]{0,40}(?:https?://|\|)|base64[^.]{0,40}(?:send|append|include|url)`), false},
}

// forbids matches what stands before words that a definition tells nobody to follow.
var forbids = lazyregexp.New(`(?i)\b(?:do not|don't|never|must not|should not|not to|cannot|can't|will not|won't|does not|doesn't) (?:ever |try to )?$`)

// mentionsOnly matches how a definition tells what its tool leaves alone, or what its own configuration is.
var mentionsOnly = lazyregexp.New(`(?i)\b(?:e\.g\.|(?:for example|such as|kubeconfig|default(?:s| is|:)?|loads? (?:environment|variables) from|excludes?|ignor(?:es?|ing)|never (?:reads?|includes?|returns?)|does not (?:read|include|return)|(?:are|is) (?:rejected|refused|blocked|not allowed))\b)`)

// mentions reports whether a text only mentions the credential store that it names.
func mentions(text, store string) bool {
	for rest, at := text, 0; ; {
		i := strings.Index(rest, store)
		if i < 0 {
			return true
		}
		at += i
		if !mentionedAt(text, at, at+len(store)) {
			return false
		}
		rest, at = rest[i+len(store):], at+len(store)
	}
}

func mentionedAt(text string, from, to int) bool {
	if strings.HasPrefix(text[from:], ".env") && !takes.MatchString(text[max(0, from-80):from]) {
		return true // every project has one
	}
	return mentionsOnly.MatchString(text[max(0, from-120):min(len(text), to+60)])
}

// takes matches what stands before a file whose contents a definition is after.
var takes = lazyregexp.New(`(?i)\b(?:read|open|cat|load|get|fetch|copy|include|pass|send|attach|put|paste|upload|collect|contents?|values?)\b[^\n]*$`)

// familyOf matches the words before "tools" that say whose they are.
var familyOf = lazyregexp.New(`(?i)\b([a-z]{4,}) (?:tools?|functions?)\b`)

// ofItsFamily reports whether what a definition says of other tools is about those that share a word of its name:
// "before any other Shopify tools" in learn_shopify_api.
func ofItsFamily(says, name string) bool {
	found := familyOf.FindAllStringSubmatch(says, -1)
	for _, m := range found {
		if word := strings.ToLower(m[1]); word == "other" || word == "these" || word == "those" || !strings.Contains(strings.ToLower(name), word) {
			return false
		}
	}
	return len(found) > 0
}

func nameIn(definition []byte) string {
	var named struct {
		Name string `json:"name"`
	}
	_ = json.Unmarshal(definition, &named) // without a name there is no family
	return named.Name
}

// mixedScript returns the first word that mixes Latin letters with letters of another script that look alike, or "".
func mixedScript(text string) string {
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) }) {
		latin, other := false, false
		for _, r := range word {
			latin = latin || unicode.Is(unicode.Latin, r)
			other = other || unicode.In(r, unicode.Cyrillic, unicode.Greek, unicode.Armenian, unicode.Cherokee) && r != 'µ' && r != 'μ' && r != 'Ω' && r != 'Δ'
		}
		if latin && other {
			return word
		}
	}
	return ""
}
