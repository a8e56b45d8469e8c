//go:build unix && !linux

package cluster

import (
	"testing"
	"time"
)

func inRoom(*testing.T) bool { return false }

func smallDisk(*testing.T, string) {}

func diskFaults(*testing.T) []fault { return nil }

func slowDisk() (func(time.Duration), error) { return func(time.Duration) {}, nil }
