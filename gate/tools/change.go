package tools

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"unicode/utf8"

	"callgate/gate/tools/internal/arguments"
)

// FileChange is one file as a call would leave it, as far as its arguments tell. The server may do something else.
type FileChange struct {
	Path   string `json:"path"`  // absolute, links resolved
	State  string `json:"state"` // new, changed, same or unknown
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
	Why    string `json:"why,omitempty"` // why the change is not known, or a remark
}

// States of a FileChange.
const (
	ChangeNew     = "new"     // there is no such file yet
	ChangeEdited  = "changed" // it becomes After
	ChangeNone    = "same"    // it has that content already
	ChangeUnknown = "unknown" // see Why
)

// maxChanged bounds the files that are read to be compared, in bytes.
const maxChanged = 1 << 20

// Changes compares what a call writes with the file as it is on the disk now. a is the call's own analysis. hidden
// reports whether the content of the file at an absolute path MUST NOT be shown. Changes returns nothing for calls that
// write no file or several, or that write on another machine.
func Changes(call Call, a *Analysis, hidden func(path string) bool) []FileChange {
	if a == nil || call.Tool == nil || call.Tool.remote || call.Tool.Kind != KindWriteFile && call.Tool.Kind != KindEditFile {
		return nil
	}
	path := ""
	for i := range a.Subjects {
		if a.Subjects[i].Kind != call.Tool.Kind || a.Subjects[i].DeniesOnly || i >= len(a.sources) {
			continue
		}
		if other := a.sources[i].path; path == "" {
			path = other
		} else if other != path {
			return nil
		}
	}
	edits := editsOf(call)
	if path == "" || edits == nil {
		return nil
	}
	if hidden(path) {
		return []FileChange{{Path: path, State: ChangeUnknown, Why: "The rules keep this file from being read: what is in it is not shown."}}
	}
	return []FileChange{compare(path, edits)}
}

// edit is one step from a file's text to the next. The error says why the next text is not known.
type edit func(before string) (after, remark string, err error)

// Names under which servers take the parts of a change.
var (
	contentNames = []string{"content", "contents", "file_text", "text", "data"}
	oldNames     = []string{"old_text", "oldText", "old_string", "old_str", "search"}
	newNames     = []string{"new_text", "newText", "new_string", "new_str", "replace"}
	allNames     = []string{"replace_all", "replaceAll"}
)

// editsOf returns the steps that a call's arguments describe, or nil if they are not known.
func editsOf(call Call) []edit {
	list, ok := arguments.Members(call.Arguments)
	if !ok {
		return nil
	}
	if call.Tool.Kind == KindWriteFile {
		content, ok := textOf(list, contentNames)
		if !ok {
			return nil
		}
		mode, _ := textOf(list, []string{"mode"})
		return []edit{func(before string) (string, string, error) {
			if mode == "append" {
				return before + content, "", nil
			}
			return content, "", nil
		}}
	}
	steps := [][]arguments.Argument{list}
	if value, ok := valueOf(list, []string{"edits"}); ok {
		each, ok := arguments.Members(value)
		if !ok {
			return nil
		}
		steps = nil
		for _, step := range each {
			parts, ok := arguments.Members(step.Value)
			if !ok {
				return nil
			}
			steps = append(steps, parts)
		}
	}
	var edits []edit
	for _, parts := range steps {
		old, hasOld := textOf(parts, oldNames)
		fresh, hasNew := textOf(parts, newNames)
		if !hasOld || !hasNew {
			return nil
		}
		all, _ := valueOf(parts, allNames)
		edits = append(edits, replacing(old, fresh, string(all) == "true"))
	}
	return edits
}

func replacing(old, fresh string, all bool) edit {
	return func(before string) (string, string, error) {
		n := strings.Count(before, old)
		switch {
		case old == "":
			return "", "", errors.New("the passage to replace is empty")
		case n == 0:
			return "", "", errors.New("the passage to replace is not in the file, letter for letter")
		case all:
			return strings.ReplaceAll(before, old, fresh), "", nil
		case n > 1:
			return strings.Replace(before, old, fresh, 1), fmt.Sprintf("The passage is in the file %d times; the first is shown.", n), nil
		}
		return strings.Replace(before, old, fresh, 1), "", nil
	}
}

func valueOf(list []arguments.Argument, names []string) ([]byte, bool) {
	for _, name := range names {
		for _, a := range list {
			if a.Name == name {
				return a.Value, true
			}
		}
	}
	return nil, false
}

func textOf(list []arguments.Argument, names []string) (string, bool) {
	value, ok := valueOf(list, names)
	if !ok {
		return "", false
	}
	return arguments.Text(value)
}

func compare(path string, edits []edit) FileChange {
	change := FileChange{Path: path, State: ChangeUnknown}
	before, err := readText(path)
	missing := errors.Is(err, fs.ErrNotExist)
	if err != nil && !missing {
		change.Why = fmt.Sprintf("The file cannot be compared: %v.", err)
		return change
	}
	after := before
	for _, step := range edits {
		var remark string
		if after, remark, err = step(after); err != nil {
			change.Why = fmt.Sprintf("What becomes of the file is not known: %v.", err)
			return change
		}
		if remark != "" {
			change.Why = remark
		}
		if len(after) > 2*maxChanged {
			change.Why = "What becomes of the file is too large to be compared."
			return change
		}
	}
	switch {
	case missing:
		change.State = ChangeNew
	case after == before:
		change.State = ChangeNone
		return change
	default:
		change.State = ChangeEdited
	}
	change.Before, change.After = before, after
	return change
}

var errNoText = errors.New("it is not text")

// readText reads a regular file that is text. It never waits for a pipe or a device.
func readText(path string) (string, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		if at, ok := errors.AsType[*fs.PathError](err); ok {
			err = at.Err // the path is beside it
		}
		return "", err
	}
	defer f.Close() // it was only read
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", errors.New("it is not a regular file")
	}
	data, err := io.ReadAll(io.LimitReader(f, maxChanged+1))
	switch {
	case err != nil:
		return "", err
	case len(data) > maxChanged:
		return "", fmt.Errorf("it has more than %d bytes", maxChanged)
	case !utf8.Valid(data) || strings.IndexByte(string(data), 0) >= 0:
		return "", errNoText
	}
	return string(data), nil
}
