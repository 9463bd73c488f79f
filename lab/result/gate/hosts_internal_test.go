package gate

import (
	"strings"
	"testing"
	"time"

	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/claim"
	"wirelab/lab/stat"
)

// calls are so many that were made so late.
func calls(n int, late time.Duration) *stat.Histogram {
	h := stat.NewHistogram()
	for range n {
		h.Record(int64(late))
	}
	return h
}

// A driver that is too slow does not hide among those that are not.
func TestEachDriverIsHeldToTheChecks(t *testing.T) {
	t.Parallel()
	share := func(host string, late, cpu time.Duration) result.DriverShare {
		return result.DriverShare{
			Host: host, Planned: 100, Sent: 100, OK: 100, Response: calls(100, time.Millisecond),
			Service: calls(100, time.Millisecond), Lag: calls(100, late), Wake: calls(100, late),
			Usage: result.Usage{CPU: plan.Duration(cpu), Wall: plan.Duration(time.Second)},
		}
	}
	for name, c := range map[string]struct {
		slow result.DriverShare
		says string // "" if nothing is wrong
	}{
		"both good":   {share("d2", time.Microsecond, time.Second/10), ""},
		"one is late": {share("d2", 100*time.Millisecond, time.Second/10), "on host d2: generator late"},
		"one is busy": {share("d2", time.Microsecond, 3900*time.Millisecond), "on host d2: generator too busy"},
	} {
		good := share("d1", time.Microsecond, time.Second/10)
		trial := &result.Trial{
			Planned: 200, Sent: 200, OK: 200, Response: calls(200, time.Millisecond), Service: calls(200, time.Millisecond),
			Lag: calls(200, time.Microsecond), Driver: &result.Usage{}, Drivers: []result.DriverShare{good, c.slow},
		}
		host := func(name string) result.Host {
			return result.Host{Name: name, Roles: []string{result.RoleDriver}, Environment: result.Environment{CPUs: 4}}
		}
		s := &Subject{
			Result: &result.Result{Minor: result.Minor, Hosts: []result.Host{host("d1"), host("d2")}},
			Load:   plan.Load{Rate: 200}, Trials: []*result.Trial{trial}, Rounds: []int{0}, State: &claim.ArmState{},
		}
		s.EachDriver()
		var said []string
		for _, check := range s.State.Checks {
			said = append(said, check.Detail)
		}
		if text := strings.Join(said, "; "); (c.says == "") != (text == "") || !strings.Contains(text, c.says) {
			t.Errorf("%s: %q, want %q", name, text, c.says)
		}
		if len(s.State.Checks) > 0 && strings.Contains(strings.Join(said, ""), "d1") {
			t.Errorf("%s: the good one is blamed: %q", name, said)
		}
	}
}
