package outbox

import (
	"testing"
	"testing/synctest"
	"time"
)

// A process that settles jobs may never run the Box.
func TestAnAlarmThatNobodyWaitsForIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAlarm()
		for range 100_000 {
			a.set(15 * time.Millisecond)
			time.Sleep(10 * time.Millisecond)
		}
		if len(a.at) > 10_000 {
			t.Errorf("%d moments are kept after %v", len(a.at), time.Since(a.begin))
		}
	})
}
