package tools

import (
	"slices"
	"strings"

	"callgate/gate/tools/internal/wording"
)

// Words of names that say what a tool does to others, from the gravest effect; the first group with a match counts.
var draftWords = []draftGroup{
	{EffectDeletes, deleteWords},
	{EffectDeletes, wording.Set("cancel expel kick ban evict deactivate clear reset flush void")},
	{EffectAccess, wording.Set("share grant revoke invite permission permissions role roles access member members collaborator collaborators password token apikey unshare")},
	{EffectMoney, wording.Set("pay payment payout charge refund transfer purchase buy checkout order withdraw deposit donate subscribe invoice trade sell book reserve rent hire lease bid")},
	{EffectOutside, wording.Set("send post publish comment reply respond email mail message notify tell whisper alert forward tweet dm sms say call upload push deploy merge trigger submit dispatch broadcast announce react reaction transfer export webhook tag enroll rollout")},
}

// draftGroup are words of a tool's name that give its effect.
type draftGroup struct {
	effect string
	words  map[string]bool
}

// To add or create a user lets somebody in.
var addWords, userWords = wording.Set("add create new register"), wording.Set("user users account accounts")

// personWords are names of arguments that name the people a tool notifies.
var personWords = wording.Set("to recipient recipients cc bcc email emails guest guests participants attendees invitees")

// receiverWords are names of arguments that name a recipient, whatever the tool does.
var receiverWords = wording.Set("to recipient recipients cc bcc payee beneficiary iban attendees participants invitees guest guests")

// NamesReceiver reports whether the name of an argument, or of a member within it, says that it names a recipient.
func NamesReceiver(argument string) bool {
	return slices.ContainsFunc(wordsOf(argument), func(w string) bool { return receiverWords[w] })
}

// destinationWords are names of arguments that say where something goes, contentWords names of those that carry it.
var (
	destinationWords = wording.Set(`to recipient recipients cc bcc email emails channel channels chat room conversation thread url uri webhook endpoint owner repo repository account iban phone destination target participants attendees invitees assignee assignees bucket topic space team group host domain receiver user username server workspace project org organization site address addresses link person people
		guest guests contact contacts customer client company hotel restaurant venue merchant vendor supplier seller payee beneficiary`)
	contentWords = wording.Set("text body message content subject title description comment caption html markdown data payload attachment attachments summary note notes files file input prompt query blocks value values memo reason")
	secretWords  = wording.Set("secret secrets credential credentials password passwords token tokens key keys env environment")
	webWords     = wording.Set("web webpage webpages page url website site scrape crawl browse browser fetch internet news")
)

// draft returns what name, schema and annotations suggest about an unlabelled tool. It MUST NOT let a call run: until a
// person accepts it, it only tightens. sure reports whether a word of the name gives the effect.
func draft(name string, d definition) (l Labels, sure bool) {
	words := wordsOf(name)
	has := func(set map[string]bool) bool {
		return slices.ContainsFunc(words, func(w string) bool { return set[w] })
	}
	reads := (len(words) > 0 && readWords[words[0]] || has(readWords) && !has(writeWords) && !has(editWords)) && !alsoActs(words)
	changes := has(writeWords) || has(editWords) || has(moveWords) || has(runWords)
	if !reads || d.hints.readOnly == no {
		if at := slices.IndexFunc(draftWords, func(g draftGroup) bool { return has(g.words) }); at >= 0 {
			l.Effect, sure = draftWords[at].effect, true
		}
	}
	switch {
	case sure:
	case has(addWords) && has(userWords):
		l.Effect, sure = EffectAccess, true
	default:
		l.Effect = d.guessEffect(reads, changes)
	}
	if l.Effect == EffectNone {
		l.Returns = guessReturns(has)
		return l, sure
	}
	l.guessArguments(d.arguments)
	return l, sure
}

// actWords are verbs, and hardly ever nouns, for what no reading tool does.
var actWords = wording.Set("send transfer pay refund buy purchase withdraw grant revoke invite publish deploy push merge cancel")

// acts reports whether a name has the verb of a tool that does not only read, at its beginning or as alsoActs finds it.
func acts(name string) bool {
	words := wordsOf(name)
	return len(words) > 0 && (deleteWords[words[0]] || actWords[words[0]]) || alsoActs(words)
}

// alsoActs reports whether a name joins another verb to the one that it begins with: search_and_send.
func alsoActs(words []string) bool {
	for i, w := range words[:max(0, len(words)-1)] {
		if w != "and" && w != "then" && w != "or" {
			continue
		}
		if verb := words[i+1]; slices.ContainsFunc(draftWords, func(g draftGroup) bool { return g.words[verb] }) {
			return true
		}
	}
	return false
}

// guessEffect returns the effect that annotations and arguments suggest for a tool whose name says whether it reads and
// whether it changes something.
func (d *definition) guessEffect(reads, changes bool) string {
	people := slices.ContainsFunc(d.arguments, func(a string) bool {
		return slices.ContainsFunc(wordsOf(a), func(w string) bool { return personWords[w] })
	})
	switch {
	case d.hints.destructive == yes && d.hints.readOnly != yes:
		return EffectDeletes
	case (reads || answers(d.description) || d.hints.readOnly == yes) && !changes && d.hints.readOnly != no:
		return EffectNone
	case changes && d.hints.openWorld == no && !people:
		return EffectOwn
	}
	return EffectOutside
}

// guessArguments guesses from their names which arguments say where something goes, and which hold what goes there.
func (l *Labels) guessArguments(arguments []string) {
	for _, argument := range arguments {
		words := wordsOf(argument)
		switch {
		case slices.ContainsFunc(words, func(w string) bool { return destinationWords[w] }):
			l.Destination = append(l.Destination, argument)
		case slices.ContainsFunc(words, func(w string) bool { return contentWords[w] }):
			l.Content = append(l.Content, argument)
		}
	}
}

// guessReturns returns the labels for what a tool without an effect seems to return.
func guessReturns(has func(map[string]bool) bool) []string {
	switch {
	case has(secretWords):
		return []string{ReturnsSecret}
	case has(webWords):
		return []string{ReturnsUntrusted}
	}
	return []string{ReturnsPrivate, ReturnsUntrusted}
}

// answers reports whether a description begins by saying that the tool gives an answer: "Returns the prices of hotels".
func answers(description string) bool {
	first, _, _ := strings.Cut(strings.TrimSpace(description), " ")
	return answerWords[strings.ToLower(strings.TrimRight(first, ".,:"))]
}

var answerWords = wording.Set("returns return lists list gets get shows show searches search reads read retrieves retrieve finds find describes describe counts count looks")

// Draft suggests labels from the names, schema and annotations of a tool, for a person to correct.
func (t *Tool) Draft() Labels {
	l, _ := draft(t.Name, parseDefinition(t.Definition))
	return l
}

// Suspected returns what a tool without labels seems to do to others: by its name, or by labels that it has outgrown.
// It may only tighten.
func (t *Tool) Suspected() (Labels, bool) { return t.suspected, t.suspected.Effect != "" }

// Arguments lists the arguments of a tool in the order of its schema.
func (t *Tool) Arguments() []string { return parseDefinition(t.Definition).arguments }
