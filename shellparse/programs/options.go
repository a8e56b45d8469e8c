package programs

import (
	"fmt"
	"slices"
	"strings"
)

// Option is one name of an option.
type Option struct {
	Name string
	Last string // the last of its names, for messages
	Arg  Argument
	Does byte // what it does: a letter listed in README.md; 0 for nothing that matters
}

// Argument says whether an option takes an argument.
type Argument uint8

const (
	None     Argument = iota
	Needed            // required: attached, or the next word
	Attached          // only when attached
	Digits            // attached digits
)

// Letters lists what options can do.
const Letters = "xwWrltedc!mpuUkgsfPXFvMLoDnyzR"

// Options is a list of options.
type Options struct {
	List   []Option // sorted by name
	Danger bool     // an option executes, or does worse than writing
	Writes bool     // an option writes, or reads a list of files
	Values bool     // the value of an option may be a file that is read
	Reads  bool     // every operand is read
}

// Dangerous reports whether the option alone keeps a rule from covering the command.
func (o *Option) Dangerous() bool {
	return o.Does != 0 && strings.IndexByte("x!wmteuUksl", o.Does) >= 0
}

// Find returns the option of that name, or nil. It also finds --globalSetup by --global-setup, and the other way round.
func (o *Options) Find(name string) *Option {
	p := o.find(name)
	if p == nil && strings.HasPrefix(name, "--") {
		p = o.find(respelled(name))
	}
	return p
}

// respelled returns --global-setup for --globalSetup, and the other way round.
func respelled(name string) string {
	out := []byte("--")
	for i := 2; i < len(name); i++ {
		switch c := name[i]; {
		case c >= 'A' && c <= 'Z':
			out = append(out, '-', c|0x20)
		case c == '-' && i+1 < len(name) && name[i+1] >= 'a' && name[i+1] <= 'z':
			i++
			out = append(out, name[i]&^0x20)
		default:
			out = append(out, c)
		}
	}
	return string(out)
}

func (o *Options) find(name string) *Option {
	lo, hi := 0, len(o.List)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		switch p := &o.List[mid]; {
		case p.Name == name:
			return p
		case p.Name < name:
			lo = mid + 1
		default:
			hi = mid
		}
	}
	return nil
}

// Abbreviated returns the long options with an effect that an abbreviation may mean in a GNU program, one for each
// effect. The worst comes first.
func (o *Options) Abbreviated(name string) (found []*Option) {
	at, _ := slices.BinarySearchFunc(o.List, name, func(p Option, name string) int { return strings.Compare(p.Name, name) })
	for ; at < len(o.List) && strings.HasPrefix(o.List[at].Name, name); at++ {
		p := &o.List[at]
		switch {
		case p.Does == 0 || p.Does == 'n' || slices.ContainsFunc(found, func(q *Option) bool { return q.Does == p.Does }):
		case len(found) > 0 && p.Dangerous() && !found[0].Dangerous():
			found = slices.Insert(found, 0, p)
		default:
			found = append(found, p)
		}
	}
	return found
}

// CompileOptions parses a list of options as README.md describes it.
func CompileOptions(list string) (*Options, error) {
	set := &Options{}
	for item := range strings.FieldsSeq(list) {
		switch item {
		case "<operand>:r":
			set.Reads = true
			continue
		case "<value>:r":
			set.Values = true
			continue
		}
		o, names, err := compileOption(item)
		if err != nil {
			return nil, err
		}
		for n := range strings.SplitSeq(names, ",") {
			switch {
			case n == "":
				return nil, fmt.Errorf("option %q: empty name", item)
			case strings.Contains(n, "!"):
				return nil, fmt.Errorf("option %q: what an option without an argument does stands after a colon, as in --force:!", item)
			}
			o.Name = n
			o.Last = names[strings.LastIndexByte(names, ',')+1:]
			set.List = append(set.List, o)
		}
		if o.Dangerous() {
			if strings.IndexByte("wmtel", o.Does) < 0 {
				set.Danger = true
			} else {
				set.Writes = true
			}
		}
	}
	slices.SortStableFunc(set.List, func(x, y Option) int { return strings.Compare(x.Name, y.Name) })
	for i := 1; i < len(set.List); i++ {
		if set.List[i].Name == set.List[i-1].Name {
			return nil, fmt.Errorf("option %q stands there twice", set.List[i].Name)
		}
	}
	return set, nil
}

// compileOption parses one item: its names, whether it takes an argument, and what it does.
func compileOption(item string) (o Option, names string, err error) {
	names = item
	does := ""
	if i := strings.IndexAny(item, "=?#"); i > 0 {
		names, does = item[:i], item[i+1:]
		o.Arg = map[byte]Argument{'=': Needed, '?': Attached, '#': Digits}[item[i]]
		if len(does) > 1 {
			return o, "", fmt.Errorf("option %q: want one letter after the argument sign", item)
		}
	} else if i := strings.IndexByte(item, ':'); i > 0 {
		if names, does = item[:i], item[i+1:]; len(does) != 1 {
			return o, "", fmt.Errorf("option %q: want one letter after the colon", item)
		}
	}
	if does != "" {
		if o.Does = does[0]; strings.IndexByte(Letters, o.Does) < 0 {
			return o, "", fmt.Errorf("option %q: unknown letter %q", item, does)
		}
	}
	return o, names, nil
}
