//go:build unix

package anchor

import (
	"io"
	"log/syslog"
)

func openSyslog() (io.WriteCloser, error) {
	return syslog.New(syslog.LOG_NOTICE|syslog.LOG_AUTH, "callgate")
}
