package traces

import (
	"testing"
	"time"
)

// TestLimits checks that sensible numbers are accepted and that the default replaces others.
func TestLimits(t *testing.T) {
	standard := limits{5 * time.Second, 30 * time.Second, 2048, 512}
	for _, c := range []struct {
		name, value string
		want        limits
	}{
		{"SCHEDULE_DELAY", "100", limits{100 * time.Millisecond, 30 * time.Second, 2048, 512}},
		{"SCHEDULE_DELAY", "0", standard},
		{"SCHEDULE_DELAY", "9300000000000", standard}, // more than a time.Duration holds
		{"EXPORT_TIMEOUT", "-1", standard},
		{"EXPORT_TIMEOUT", "soon", standard},
		{"MAX_QUEUE_SIZE", "100", limits{5 * time.Second, 30 * time.Second, 100, 100}},
		{"MAX_QUEUE_SIZE", "9223372036854775807", standard}, // more than memory holds
		{"MAX_EXPORT_BATCH_SIZE", "9000", limits{5 * time.Second, 30 * time.Second, 2048, 2048}},
	} {
		t.Run(c.name+"="+c.value, func(t *testing.T) {
			t.Setenv("OTEL_BSP_"+c.name, c.value)
			if got := readLimits(); got != c.want {
				t.Errorf("%+v, want %+v", got, c.want)
			}
		})
	}
}
