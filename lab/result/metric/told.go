package metric

import (
	"cmp"
	"slices"

	"wirelab/lab/plan"
	"wirelab/lab/result"
)

// ToldWrong is the kind of calls that another program counted as failed.
const ToldWrong = "told by the tool"

// OurTotal is a total of a trial that only our own drivers report.
func OurTotal(t *result.Trial, total uint64) (float64, bool) { return float64(total), t.Told == nil }

// ours reports whether only our own drivers report a metric.
func ours(m Metric) bool {
	own := []string{plan.ResponseMean, plan.WireSent, plan.WireReceived, plan.ClientAllocations, Connections}
	return m.Quantile > 0 || slices.Contains(own, m.ID)
}

// ToldOf says why a tool's trials lack a metric that only our own drivers report; "" for other trials.
func ToldOf(trials []*result.Trial, m Metric) string {
	at := slices.IndexFunc(trials, func(t *result.Trial) bool { return t.Told != nil })
	ofServer := slices.Contains([]string{plan.ServerCPU, plan.ServerAllocations, plan.PoolWait}, m.ID)
	if at >= 0 && trials[at].Told.Direct && ofServer {
		return "there was no server: " + trials[at].Told.Tool + " asked the database itself"
	}
	if at < 0 || !ours(m) {
		return ""
	}
	return trials[at].Told.Tool + " made the calls, and does not tell it of each"
}

// DriverOf is the driver of an arm as a level of a factor.
func DriverOf(a plan.Arm) string { return cmp.Or(a.Driver, plan.DriverClient) }
