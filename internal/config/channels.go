package config

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"callgate/internal/channels"
	"callgate/internal/companion/credentials"
	"callgate/internal/oncall"
	"callgate/internal/push"
	"callgate/permissions"
)

// channelConfig is one place where "approve --channels" asks. Its secret is not in the configuration, but in
// {dataDir}/credentials/{name}.
type channelConfig struct {
	Name   string
	Kind   string        // slack, discord, matrix, telegram, ntfy, webhook, push or email
	URL    string        // of the service's API or of the receiver; push: host of a push service that callgate does not know
	To     string        // channel, room, chat or topic; email: addresses separated by commas
	People []string      // who may answer: "name in the service=person"
	After  time.Duration // how long a question waits before it is asked here
	Quiet  string        // when nothing new is posted: "22:00-07:00"
	Listen string        // webhook: address on which answers arrive
	Answer string        // webhook: URL of Listen as the receiver reaches it
	Page   string        // address of the page for links
	From   string        // email: address of the sender
	Every  time.Duration // email: how long questions are collected for one digest
	OnCall string        // iCalendar file: only people on call are asked and may answer

	hours  permissions.Hours
	people map[string]string
}

var channelKinds = []string{"slack", "discord", "matrix", "telegram", "ntfy", "webhook", "push", "email"}

// channelsConfig lists the channels.
type channelsConfig []channelConfig

// validate checks everything that needs no secret.
func (c channelsConfig) validate() error {
	seen := map[string]bool{}
	for i := range c {
		ch := &c[i]
		if ch.Name == "" || seen[ch.Name] || strings.ContainsAny(ch.Name, "/\\.") {
			return fmt.Errorf("[%d]: a channel needs a name of its own, without dots and slashes", i)
		}
		if reserved(ch.Name) {
			return fmt.Errorf("[%d] %s: callgate keeps a credential of its own under that name: the channel's secret needs another", i, ch.Name)
		}
		seen[ch.Name] = true
		if err := ch.validate(); err != nil {
			return fmt.Errorf("[%d] %s: %w", i, ch.Name, err)
		}
	}
	return nil
}

// reserved reports whether the secret of a channel with this name would be one of callgate's own, or the one of the
// decision point.
func reserved(name string) bool {
	own := credentials.Credential(strings.ToLower(name)) // some file systems ignore case
	return own.Person() != "" || slices.Contains(credentials.Names(), own) || own == authZENSecret
}

func (ch *channelConfig) validate() (err error) {
	if err := ch.validateMembers(); err != nil {
		return err
	}
	if ch.Quiet != "" {
		if ch.hours, err = permissions.ParseHours(ch.Quiet); err != nil {
			return fmt.Errorf("quiet: %w", err)
		}
	}
	if ch.people, err = peopleOf(ch.People); err != nil {
		return err
	}
	if !ch.onlyTells() && len(ch.people) == 0 {
		return fmt.Errorf(`people: nobody could answer: write people: ["%s=alice"], with the name of each person in the service and here`, cmp.Or(exampleUser[ch.Kind], "alice@example.com"))
	}
	return nil
}

// validateMembers checks that the channel has the members of its kind, and no others.
func (ch *channelConfig) validateMembers() error {
	if err := ch.validateTo(); err != nil {
		return err
	}
	email, webhook := ch.Kind == "email", ch.Kind == "webhook"
	switch {
	case ch.Kind == "push" && ch.Page == "":
		return errors.New("page is missing: messages link to it")
	case (ch.Listen != "" || ch.Answer != "") && (!webhook || ch.Listen == "" || ch.Answer == ""):
		return errors.New("listen and answer are for a webhook, and each needs the other")
	case (ch.From == "") == email:
		return errors.New("from: name the sender of an email, and of nothing else")
	case ch.Every != 0 && !email || ch.Every < 0:
		return errors.New("every: a digest of emails collects for a time such as 15m")
	case ch.After < 0:
		return errors.New("after is negative")
	}
	return nil
}

// validateTo checks the members that say where messages go.
func (ch *channelConfig) validateTo() error {
	switch {
	case !slices.Contains(channelKinds, ch.Kind):
		return fmt.Errorf("kind %q: use %s", ch.Kind, strings.Join(channelKinds, ", "))
	case (ch.To == "") != (ch.Kind == "webhook" || ch.Kind == "push"):
		return errors.New("to: name the channel, room, chat or topic; a webhook and push have none")
	case ch.Kind == "telegram" && !isNumber(ch.To):
		return fmt.Errorf("to: %q is not the id of a chat, a number such as 123456789, or -1001234567890 for a group", ch.To)
	case ch.URL == "" && !slices.Contains([]string{"slack", "discord", "telegram", "push"}, ch.Kind):
		return errors.New("url is missing")
	}
	return nil
}

// peopleOf parses the entries, and maps names in the service to people.
func peopleOf(entries []string) (map[string]string, error) {
	people := map[string]string{}
	for _, entry := range entries {
		at := strings.LastIndexByte(entry, '=')
		if at <= 0 || at == len(entry)-1 {
			return nil, fmt.Errorf(`people: %q: write "name in the service=person"`, entry)
		}
		people[entry[:at]] = entry[at+1:]
	}
	return people, nil
}

func isNumber(text string) bool {
	_, err := strconv.ParseInt(text, 10, 64)
	return err == nil
}

// exampleUser holds an example of how each service names a person.
var exampleUser = map[string]string{"slack": "U0123456789", "discord": "80351110224678912", "matrix": "@alice:example.com", "telegram": "123456789", "ntfy": channels.TopicUser}

// onlyTells reports whether the channel only tells people of questions, and takes no answers.
func (ch *channelConfig) onlyTells() bool {
	return ch.Kind == "push" || ch.Kind == "email" || ch.Kind == "webhook" && ch.Listen == ""
}

// Push returns the store of the browsers that get push messages, or nil if no channel has the kind push.
func (c channelsConfig) Push(dataDir string) *push.Store {
	for i := range c {
		if ch := &c[i]; ch.Kind == "push" {
			return push.Open(dataDir, ch.Page, ch.URL)
		}
	}
	return nil
}

// Open reads the secrets and opens the channels.
func (c channelsConfig) Open(dataDir string) (list []channels.Channel, err error) {
	if len(c) == 0 {
		return nil, errors.New("no channel is configured; docs/chat.md shows how")
	}
	for i := range c {
		ch := &c[i]
		opened, err := ch.channel(dataDir)
		if err != nil {
			return nil, fmt.Errorf("channel %s: %w", ch.Name, err)
		}
		list = append(list, opened)
	}
	return list, nil
}

func (ch *channelConfig) channel(dataDir string) (opened channels.Channel, err error) {
	opened = channels.Channel{Name: ch.Name, People: ch.people, After: ch.After, Quiet: ch.hours, Page: ch.Page, Told: ch.onlyTells()}
	if ch.OnCall != "" {
		if opened.OnCall, err = oncall.Open(ExpandHome(ch.OnCall)); err != nil {
			return opened, err
		}
	}
	secret := ""
	if ch.needsSecret() {
		if secret, err = credentials.Foreign(dataDir, ch.Name); err != nil {
			return opened, fmt.Errorf("put its secret into {dataDir}/credentials/%s (mode 0600): %w", ch.Name, err)
		}
	}
	opened.Place, err = ch.open(dataDir, secret, opened.OnCall)
	return opened, err
}

func (ch *channelConfig) needsSecret() bool {
	u, err := url.Parse(ch.URL)
	return ch.Kind != "push" && (ch.Kind != "email" || err == nil && u.User != nil)
}

// digestEvery is the default for Every.
const digestEvery = 15 * time.Minute

// onCallNow reports whether a channel without answers now tells a person: if there is no calendar, or one of names is
// on call.
func onCallNow(calendar *oncall.Calendar, names ...string) bool {
	if calendar == nil {
		return true
	}
	now, err := calendar.At(time.Now())
	return err == nil && oncall.Among(now, names...)
}

func (ch *channelConfig) open(dataDir, secret string, calendar *oncall.Calendar) (channels.Place, error) {
	switch ch.Kind {
	case "slack":
		app, bot, _ := strings.Cut(secret, "\n")
		return channels.NewSlack(ch.URL, ch.To, strings.TrimSpace(app), strings.TrimSpace(bot))
	case "discord":
		return channels.NewDiscord(ch.URL, ch.To, secret)
	case "matrix":
		return channels.NewMatrix(ch.URL, ch.To, secret)
	case "telegram":
		return channels.NewTelegram(ch.URL, ch.To, secret)
	case "ntfy":
		return channels.NewNtfy(ch.URL, ch.To, secret)
	case "push":
		known := credentials.At(dataDir)
		return channels.NewPush(push.Open(dataDir, ch.Page, ch.URL), func(person string) bool { return known.Knows(person) && onCallNow(calendar, person) }), nil
	case "email":
		addresses := strings.FieldsFunc(ch.To, func(r rune) bool { return r == ',' || r == ' ' })
		return channels.NewEmail(ch.URL, secret, ch.From, func() []string {
			return slices.DeleteFunc(slices.Clone(addresses), func(address string) bool { return !onCallNow(calendar, address, ch.people[address]) })
		}, cmp.Or(ch.Every, digestEvery))
	}
	var listen net.Listener
	if ch.Listen != "" {
		var err error
		if listen, err = net.Listen("tcp", ch.Listen); err != nil {
			return nil, fmt.Errorf("listen: %w", err)
		}
	}
	return channels.NewWebhook(ch.URL, ch.Answer, secret, listen)
}
