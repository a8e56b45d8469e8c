package install

import (
	"fmt"
	"slices"
	"strings"
)

// renew updates entries from an earlier connect that start callgate at another path. It changes only the path of the
// program.
func (p *Plan) renew(h *Host, l *located, c *Change) error {
	doc, err := open(l.File, c.After)
	if err != nil {
		return err
	}
	places, err := placesOf(doc, l.File)
	if err != nil {
		return err
	}
	for _, place := range places {
		entries, err := doc.entries(place)
		if err != nil {
			return err
		}
		args := p.ownArgs(p.servingPath(h, c.Path, place))
		for i := range entries {
			e := &entries[i]
			old := commandOf(e.value)
			if len(old) == 0 || old[0] == p.options.Callgate || !slices.Equal(old[1:], args) {
				continue
			}
			made := []edit{{Place: place, Name: e.name, Raw: e.raw, Flow: e.flow, Value: e.value}, {Place: place, Name: e.name, Own: true}}
			if i+1 < len(entries) {
				made[0].Next = entries[i+1].name
			}
			text := restarting(l.File, string(c.After), place, e, append([]string{p.options.Callgate}, args...))
			if text == "" || unharmed(l.File, c.After, []byte(text), made) != nil {
				return fmt.Errorf("the entry %s starts %s: disconnect, and connect again", e.name, old[0])
			}
			c.After, c.edits = []byte(text), append(c.edits, made...)
		}
	}
	return nil
}

// restarting returns text with the entry's program replaced by that of command; "" if the program cannot be found or
// replaced in the text.
func restarting(f *File, text string, place []string, e *entry, command []string) string {
	if e.raw == "" || strings.Count(text, e.raw) != 1 {
		return ""
	}
	before, after, _ := strings.Cut(text, e.raw)
	escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace
	for _, written := range []func(string) string{func(s string) string { return s }, escape} {
		old, fresh := written(commandOf(e.value)[0]), written(command[0])
		for at := 0; ; at++ {
			next := strings.Index(e.raw[at:], old)
			if next < 0 {
				break
			}
			at += next
			changed := before + e.raw[:at] + fresh + e.raw[at+len(old):] + after
			doc, err := open(f, []byte(changed))
			if err != nil {
				continue
			}
			entries, _ := doc.entries(place) // empty if the text cannot be read
			if slices.ContainsFunc(entries, func(x entry) bool { return x.name == e.name && slices.Equal(commandOf(x.value), command) }) {
				return changed
			}
		}
	}
	return ""
}
