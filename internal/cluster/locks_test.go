package cluster

import (
	"encoding/json"
	"testing"
)

// TestLockWithoutAnswer takes a lock with a write that took effect but was not confirmed. The lock is free at once.
func TestLockWithoutAnswer(t *testing.T) {
	t.Parallel()
	c := open(t, 1)[0]
	mine := holder{c.o.Name, c.epoch, chance()}
	if _, err := c.locks.write("lock.login.a", mine, 0); err != nil {
		t.Fatal(err)
	}
	c.locks.disown("lock.login.a", mine)
	_, unlock, err := c.locks.hold(t.Context(), "login.a")
	if err != nil {
		t.Fatal(err)
	}
	c.locks.disown("lock.login.a", mine) // from another time
	c.locks.disown("lock.login.b", mine) // whose write failed
	_, v, err := c.bucket.read(t.Context(), "lock.login.a")
	if err != nil || v.rev == 0 {
		t.Fatal(v, err)
	}
	var now holder
	if err := json.Unmarshal(v.body, &now); err != nil || now.Epoch != c.epoch {
		t.Errorf("it is held by %+v, %v", now, err)
	}
	unlock()
}
