package anchor

import (
	"errors"
	"io"
)

func openSyslog() (io.WriteCloser, error) {
	return nil, errors.New("this system has no syslog: name a file")
}
