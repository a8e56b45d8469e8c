//go:build unix

package app

import (
	"io"
	"log/syslog"
)

func openSyslog() (io.WriteCloser, error) {
	return syslog.New(syslog.LOG_NOTICE|syslog.LOG_AUTH, "callgate")
}
