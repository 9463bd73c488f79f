package agent

import (
	"testing"
	"time"

	"wirelab/lab/plan"
	"wirelab/lab/result"
)

// A driver that others hold up polls the clock for longer than it runs. Once, all of that time was subtracted from its
// CPU time, which became -1.9 s in a slice of 2.7 s.
func TestSpinningIsTakenOffAsProcessorTime(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ looking, cpu, waited, want time.Duration }{
		"alone":                   {2 * time.Second, 2500 * time.Millisecond, 0, 2 * time.Second},
		"nothing was spun":        {0, time.Second, time.Second, 0},
		"half of the time waited": {2 * time.Second, 1250 * time.Millisecond, 1250 * time.Millisecond, time.Second},
		"more than it ran": {
			2700 * time.Millisecond, 800 * time.Millisecond, 1900 * time.Millisecond,
			800 * time.Millisecond,
		},
		"clocks differ a little": {2001 * time.Millisecond, 2 * time.Second, 0, 2 * time.Second},
		"no processor time":      {time.Second, 0, 0, 0},
	} {
		got := spent(c.looking, result.Usage{CPU: plan.Duration(c.cpu), Waited: plan.Duration(c.waited)})
		if time.Duration(got) != c.want {
			t.Errorf("%s: %v of %v, want %v", name, time.Duration(got), c.cpu, c.want)
		}
	}
}
