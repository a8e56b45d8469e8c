package periodic

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestEvery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithTimeout(t.Context(), 3500*time.Millisecond)
		defer stop()
		began, seen := time.Now(), 0
		for now := range Every(ctx, time.Second) {
			if seen++; now.Sub(began) != time.Duration(seen)*time.Second {
				t.Errorf("%d after %s", seen, now.Sub(began))
			}
		}
		if seen != 3 || time.Since(began) != 3500*time.Millisecond {
			t.Errorf("%d in %s", seen, time.Since(began))
		}
		for range Every(t.Context(), time.Second) {
			break
		}
		if took := time.Since(began); took != 4500*time.Millisecond {
			t.Errorf("it ended after %s", took)
		}
	})
}
