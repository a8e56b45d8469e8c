package durable

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// errNotAFile means that something else is in the place of a file.
var errNotAFile = errors.New("this is not a regular file: put the file back, or remove what is in its place")

// Open opens the file at path for reading. It returns an error for anything but a regular file, such as a named pipe or
// a device: reading that could block or never end.
func Open(path string) (*os.File, error) {
	f, err := openShared(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: path, Err: errNotAFile}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// ReadFile reads the file at path like os.ReadFile. It refuses anything but a regular file, and files over limit bytes.
func ReadFile(path string, limit int64) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("it is longer than %d bytes", limit)}
	}
	if err != nil {
		return nil, err
	}
	return text, nil
}

// LoadJSON reads the JSON file at path into v, with the checks of ReadFile. Without such a file, v stays as it is.
func LoadJSON(path string, limit int64, v any) error {
	text, err := ReadFile(path, limit)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		if err = json.Unmarshal(text, v); err != nil {
			err = fmt.Errorf("%s: %w", path, err)
		}
	}
	return err
}

// SaveJSON replaces the file at path with v as JSON. Only the user can read it.
func SaveJSON(path string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return Replace(path, append(text, '\n'), 0o600)
}

// Regular returns an error unless path is a regular file or does not exist. Call it before other code opens path.
func Regular(path string) error {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: path, Err: errNotAFile}
	}
	return err
}
