package checkpoint

import "path/filepath"

// lister returns the entries of a folder, given the hash of the list.
type lister func(Hash) ([]Entry, error)

// compare calls emit for each path that differs between before and after, folders before what is in them.
func compare(path string, before, after Entry, was, is lister, emit func(Change)) error {
	if before.same(after) || unseen(before) || unseen(after) {
		return nil
	}
	if b, a := before.bare(), after.bare(); b != a {
		emit(Change{Path: path, Before: b, After: a})
	}
	if before.Kind == LeftOut || after.Kind == LeftOut {
		return nil
	}
	if before.Kind == Directory && after.Kind == Directory && (before.Hash == Hash{}) != (after.Hash == Hash{}) {
		return nil // the content of one side is unknown
	}
	old, err := within(before, was)
	if err != nil {
		return err
	}
	now, err := within(after, is)
	if err != nil {
		return err
	}
	for len(old) > 0 || len(now) > 0 {
		b, a := Entry{Kind: Absent}, Entry{Kind: Absent}
		var name string
		switch {
		case len(now) == 0 || len(old) > 0 && old[0].Name < now[0].Name:
			b, name, old = old[0], old[0].Name, old[1:]
		case len(old) == 0 || now[0].Name < old[0].Name:
			a, name, now = now[0], now[0].Name, now[1:]
		default:
			b, a, name = old[0], now[0], old[0].Name
			old, now = old[1:], now[1:]
		}
		if err := compare(filepath.Join(path, name), b, a, was, is, emit); err != nil {
			return err
		}
	}
	return nil
}

// unseen reports whether a path was not looked at, so that its state is unknown.
func unseen(e Entry) bool {
	return e.Kind == LeftOut && (e.Why == whyLimit || e.Why == whyIgnored || e.Why == whyProtected)
}

// bare returns the entry without its content, if it is a folder.
func (e Entry) bare() Entry {
	e.Name = ""
	if e.Kind == Directory {
		e.Hash = Hash{}
	}
	return e
}

func within(e Entry, list lister) ([]Entry, error) {
	if e.Kind != Directory || e.Hash == (Hash{}) {
		return nil, nil
	}
	return list(e.Hash)
}
