//go:build !nonats

package cluster

import (
	"fmt"
	"log/slog"
)

// natsLog sends what the embedded server says to callgate's log. Its warnings are about routes that come and go.
type natsLog struct{ log *slog.Logger }

func (n natsLog) Noticef(format string, v ...any) { n.log.Debug("nats: " + fmt.Sprintf(format, v...)) }
func (n natsLog) Warnf(format string, v ...any)   { n.log.Info("nats: " + fmt.Sprintf(format, v...)) }
func (n natsLog) Errorf(format string, v ...any)  { n.log.Info("nats: " + fmt.Sprintf(format, v...)) }
func (n natsLog) Fatalf(format string, v ...any)  { n.log.Error("nats: " + fmt.Sprintf(format, v...)) }
func (n natsLog) Debugf(format string, v ...any)  {}
func (n natsLog) Tracef(format string, v ...any)  {}
