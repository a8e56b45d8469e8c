package upstream

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"callgate/internal/interned"
	"callgate/internal/jsonx"
)

// Kind is one of the lists that a server can have.
type Kind uint8

const (
	Tools Kind = iota
	Prompts
	Resources
	Templates
)

// Kinds lists all kinds.
var Kinds = [...]Kind{Tools, Prompts, Resources, Templates}

var kindText = [len(Kinds)]struct{ name, method, member, key, capability string }{
	Tools:     {"tools", "tools/list", "tools", "name", "tools"},
	Prompts:   {"prompts", "prompts/list", "prompts", "name", "prompts"},
	Resources: {"resources", "resources/list", "resources", "uri", "resources"},
	Templates: {"resource templates", "resources/templates/list", "resourceTemplates", "uriTemplate", "resources"},
}

func (k Kind) String() string {
	if int(k) < len(kindText) {
		return kindText[k].name
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// Method returns the method that asks for the list.
func (k Kind) Method() string { return kindText[k].method }

// Member returns the name of the array in the result.
func (k Kind) Member() string { return kindText[k].member }

func (k Kind) capability() string { return kindText[k].capability }

// Item is one entry of a list.
type Item struct {
	Key string // name of a tool or prompt, URI of a resource, URI template of a template
	Raw []byte // the whole entry as the server sent it
}

// List is all pages of a list. Its items have distinct keys. It is immutable.
type List struct {
	Items     []Item
	Envelope  []byte // raw result of the first page; nil if the server has no such list
	Pages     int
	Truncated string            // why the list was cut; "" if it is complete
	Digest    [sha256.Size]byte // of everything else; set for lists that an Upstream returns

	pages [][]byte
}

// lists holds the lists of all servers. Equal lists are kept once.
var lists interned.Map[[sha256.Size]byte, List]

// shared returns an equal list that was made before, or this one.
func (l List) shared(k Kind) *List {
	h := sha256.New()
	write := func(text []byte) {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(text)))
		h.Write(n[:])
		h.Write(text)
	}
	write([]byte(k.String())) // which says what the keys of the items are
	write([]byte(l.Truncated))
	for _, page := range l.pages {
		write(page)
	}
	write(nil)
	for _, item := range l.Items { // not every entry of a page becomes an item
		write(item.Raw)
	}
	h.Sum(l.Digest[:0])
	return lists.Get(l.Digest, func() *List { return &l })
}

// Limits of one list.
const (
	maxPages = 1000
	maxItems = 10_000
	maxBytes = 64 << 20
)

// same reports whether both have the same items, byte for byte.
func (l List) same(other List) bool {
	return slices.EqualFunc(l.Items, other.Items, func(a, b Item) bool { return bytes.Equal(a.Raw, b.Raw) })
}

// listReader assembles a list from its pages.
type listReader struct {
	kind  Kind
	log   *throttle
	list  List
	seen  map[string]bool
	bytes int
	last  []byte // cursor of the previous page
}

func newListReader(k Kind, log *slog.Logger) *listReader {
	return &listReader{kind: k, log: newThrottle(log), seen: map[string]bool{}}
}

// add adds the result of one page and returns the cursor of the next, a raw JSON string, or nil after the last page. An
// error means that the server's answer is unusable.
func (r *listReader) add(result []byte) (cursor []byte, err error) {
	var m [2]jsonx.Member
	if err := jsonx.Members(result, []string{r.kind.Member(), "nextCursor"}, m[:]); err != nil {
		return nil, err
	}
	if m[0].Value == nil {
		return nil, fmt.Errorf("the result has no %q", r.kind.Member())
	}
	if r.bytes += len(result); r.bytes > maxBytes {
		return nil, r.truncate(fmt.Sprintf("more than %d bytes", maxBytes))
	}
	if r.list.Pages == 0 {
		r.list.Envelope = result
	}
	r.list.Pages++
	r.list.pages = append(r.list.pages, result)
	if err := r.items(m[0].Value); err != nil {
		return nil, err
	}
	cursor = m[1].Value
	switch _, isString := jsonx.String(cursor); {
	case r.list.Truncated != "", cursor == nil, string(cursor) == "null":
		return nil, nil
	case !isString:
		return nil, errors.New("the cursor is not a string")
	case r.list.Pages > 1 && bytes.Equal(cursor, r.last):
		return nil, r.truncate("the same cursor twice in a row")
	case r.list.Pages == maxPages:
		return nil, r.truncate(fmt.Sprintf("more than %d pages", maxPages))
	}
	r.last = cursor
	return cursor, nil
}

// items adds the entries of one page. It skips entries that nothing could refer to.
func (r *listReader) items(array []byte) error {
	dec := jsontext.NewDecoder(bytes.NewReader(array), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if dec.PeekKind() != '[' {
		return fmt.Errorf("%q is not an array", r.kind.Member())
	}
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	for dec.PeekKind() != ']' {
		value, err := dec.ReadValue()
		if err != nil {
			return err
		}
		if len(r.list.Items) == maxItems {
			return r.truncate(fmt.Sprintf("more than %d entries", maxItems))
		}
		end := int(dec.InputOffset())
		r.item(array[end-len(value) : end : end])
	}
	return nil
}

func (r *listReader) item(raw []byte) {
	var m [1]jsonx.Member
	name := kindText[r.kind].key
	err := jsonx.Members(raw, []string{name}, m[:])
	key, ok := jsonx.String(m[0].Value)
	switch {
	case err != nil:
	case !ok || key == "":
		err = fmt.Errorf("it has no %s", name)
	case r.seen[key]:
		err = fmt.Errorf("another one has the same %s", name)
	}
	if err != nil {
		r.log.write(slog.LevelWarn, "definition of the server skipped", "list", r.kind.String(), "definition", excerpt(raw), "error", err)
		return
	}
	r.seen[key] = true
	r.list.Items = append(r.list.Items, Item{Key: key, Raw: raw})
}

func (r *listReader) truncate(why string) error {
	r.list.Truncated = why
	r.log.write(slog.LevelWarn, "list of the server cut", "list", r.kind.String(), "entries", len(r.list.Items), "reason", why)
	return nil
}

// parseList reads a list from its stored pages.
func parseList(k Kind, pages [][]byte, log *slog.Logger) (List, error) {
	r := newListReader(k, log)
	defer r.log.report()
	for _, page := range pages {
		if _, err := r.add(page); err != nil {
			return List{}, err
		}
	}
	return r.list, nil
}
