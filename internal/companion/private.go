package companion

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// maxPrivate bounds a private file, in bytes: all of them are small.
const maxPrivate = 4096

// readPrivate reads a small file that only the user can read and write.
func readPrivate(path string) ([]byte, error) {
	if err := checkPrivate(path); err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxPrivate+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxPrivate {
		return nil, fmt.Errorf("%s is larger than %d bytes", path, maxPrivate)
	}
	return data, nil
}

// writePrivate puts data at path, whole or not at all, readable and writable by the user alone.
func writePrivate(path string, data []byte) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*") // 0600, and never an existing file
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(f.Name())
		}
	}()
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
