package credentials

import (
	"fmt"
	"io"

	"callgate/internal/durable"
)

// maxPrivate bounds a private file, in bytes: all of them are small.
const maxPrivate = 4096

// ReadPrivate reads a small file that only the user can read and write.
func ReadPrivate(path string) ([]byte, error) {
	if err := CheckPrivate(path); err != nil {
		return nil, err
	}
	f, err := durable.Open(path)
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

// WritePrivate puts data at path, whole or not at all, readable and writable by the user alone.
func WritePrivate(path string, data []byte) error { return durable.Replace(path, data, 0o600) }
