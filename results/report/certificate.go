package report

import (
	"fmt"
	"strings"
	"time"

	"wirelab/lab/kind/kinds"
	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/calibration"
)

// certified returns the metrics that a calibration's line names.
func certified() []string {
	return []string{plan.ServerCPU, plan.Throughput, plan.ResponseP50, plan.ResponseP99}
}

// Resolves says in one line which differences a calibrated machine can tell apart: "60 s can resolve 0.7 % in server
// CPU/req, 0.9 % in response p50 · noise: quiet". For a machine on which one minute is too short, it gives five
// minutes. It returns "" without a calibration.
func Resolves(c *result.Certificate) string {
	if c == nil {
		return ""
	}
	noise := " · noise: " + calibration.Loudness(c.Noise)
	for _, t := range []time.Duration{time.Minute, 5 * time.Minute} {
		var parts []string
		for _, id := range certified() {
			m, err := kinds.MetricByID(id)
			w, ok := c.In(id, t)
			if err == nil && ok {
				parts = append(parts, Percent(w.Detectable)+" in "+m.Short)
			}
		}
		if len(parts) > 0 {
			return seconds(t) + " can resolve " + strings.Join(parts, ", ") + noise
		}
	}
	return "five minutes are too short: a round takes " + time.Duration(c.Round).Round(time.Second).String() + noise
}

func seconds(t time.Duration) string {
	if t < 5*time.Minute {
		return fmt.Sprintf("%.0f s", t.Seconds())
	}
	return fmt.Sprintf("%.0f min", t.Minutes())
}

// Burst says in one or two sentences how a calibration was measured.
func Burst(c *result.Certificate) string {
	return fmt.Sprintf("%s, was compared with itself in %d rounds of %v, at %s; noise: %s (hypervisor %s, other "+
		"processes %s of the CPUs in the worst round).",
		c.What, c.Rounds, time.Duration(c.Round).Round(10*time.Millisecond), c.Made.UTC().Format("15:04 UTC"),
		calibration.Loudness(c.Noise), Percent(c.Noise.Steal), Percent(c.Noise.Others))
}
