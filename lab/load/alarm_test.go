package load

import (
	"testing"
	"time"
)

func TestAlarm(t *testing.T) {
	t.Parallel()
	for name, a := range map[string]*Alarm{"exact": NewAlarm(), "plain": newPlainAlarm()} {
		began := SystemClock{}.Now()
		a.Set(time.Hour)
		a.Set(3 * time.Millisecond) // replaced by the next setting
		<-a.C
		if took := time.Duration(SystemClock{}.Now() - began); took < 3*time.Millisecond {
			t.Errorf("%s: rang after %v, want not before 3ms", name, took)
		}
		a.Set(time.Hour)
		a.Close()
	}
}
