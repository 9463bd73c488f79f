package result

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"wirelab/lab/plan"
)

// Told is what is known of calls that another program made in the driver's place: how many were answered, by its own
// report, and what its processes used. Their times are not known one by one, nor their bytes, and their replies were
// not checked; so a trial with it has no times and no bytes, and they are not 0.
type Told struct {
	Tool string `json:"tool"` // "wrk"
	// Direct is that it asked a database itself, so that there was no server.
	Direct bool `json:"direct,omitempty"`
}

// ToldWrong is the kind of calls that another program counted as failed.
const ToldWrong = "told by the tool"

// tool is the program that made the subject's calls; "" if a driver of ours did.
func (s *subject) tool() string {
	for _, t := range s.trials {
		if t.Told != nil {
			return cmp.Or(t.Told.Tool, "another program")
		}
	}
	return ""
}

// ourTotal is a total of a trial that only a driver of ours can tell.
func ourTotal(t *Trial, total uint64) (float64, bool) { return float64(total), t.Told == nil }

// ours reports whether only a driver of ours can tell a metric.
func ours(m Metric) bool {
	own := []string{plan.ResponseMean, plan.WireSent, plan.WireReceived, plan.ClientAllocations, Connections}
	return m.Quantile > 0 || slices.Contains(own, m.ID)
}

// toldOf says why trials of a tool lack a metric that only a driver of ours can tell; "" of others.
func toldOf(trials []*Trial, m Metric) string {
	at := slices.IndexFunc(trials, func(t *Trial) bool { return t.Told != nil })
	ofServer := slices.Contains([]string{plan.ServerCPU, plan.ServerAllocations, plan.PoolWait}, m.ID)
	if at >= 0 && trials[at].Told.Direct && ofServer {
		return "there was no server: " + trials[at].Told.Tool + " asked the database itself"
	}
	if at < 0 || !ours(m) {
		return ""
	}
	return trials[at].Told.Tool + " made the calls, and does not tell it of each"
}

// told applies the gates on replies and warm-ups of an arm that a tool drives: who counted, and what nobody knows.
func (s *subject) told(tool string) {
	failed := uint64(0)
	for _, n := range s.all.errors {
		failed += n
	}
	wrong, _ := s.each(func(_ int, t *Trial) (float64, bool, bool) { return float64(t.wrong()), t.wrong() == 0, true })
	s.add(Check{
		Gate: Answers, OK: failed == 0, Value: float64(failed), Unit: s.things(), Rounds: wrong,
		Detail: choose(failed == 0, "replies not checked: "+tool+" counted "+Thousands(s.all.ok)+" as answered",
			tool+" counted "+Thousands(failed)+" of "+Thousands(s.all.sent)+" calls as failed"),
		Fix: "run the arm with a driver of ours, which says what was wrong (--driver client)",
	})
	s.state.Tool = tool
	s.toldRate(tool)
	s.state.Notes = append(s.state.Notes, toldNote(tool))
}

// toldRateShare of the plan's rate is what a tool may be off. Its start and its last call are in the time that it
// tells.
const toldRateShare = 0.02

// toldRate compares the rate of a tool's calls with the plan's. What was due at which moment a tool does not tell.
func (s *subject) toldRate(tool string) {
	if !s.load.Open() || s.load.Rate <= 0 {
		return
	}
	most := func(window time.Duration, slices int) float64 {
		_, slack := s.expected(window, slices)
		return max(slack, toldRateShare*s.load.Rate*window.Seconds())
	}
	readings, failed := s.each(func(_ int, t *Trial) (float64, bool, bool) {
		window := time.Duration(max(t.Window, 0))
		off := math.Abs(float64(t.Sent) - s.load.Rate*window.Seconds())
		return finite(off), off <= most(window, len(t.Order)), t.Window > 0
	})
	due := s.load.Rate * s.all.window.Seconds()
	off := math.Abs(float64(s.all.sent) - due)
	c := Check{
		Gate: Schedule, OK: enough(failed, len(readings)), Value: off, Limit: most(s.all.window, s.all.slices),
		Unit: "calls from the plan", Rounds: readings,
		Detail: fmt.Sprintf("%s made %s calls, where the rate gives %s", tool, Thousands(s.all.sent), Thousands(uint64(due))),
		Fix:    "a lower --rate, or more calls in flight at most",
	}
	if !c.OK {
		c.Detail = "the rate was not kept: " + c.Detail
	}
	s.add(c)
}

// toldNote says what is not known of an arm that a tool drives.
func toldNote(tool string) string {
	return "driven by " + tool + ": replies were not checked, whether the warm-up reached a steady state is not known, " +
		"and there are no response times, bytes or floor; the CPU time of the client has the starts of its processes in it"
}

// driverOf is the driver of an arm as a factor has it.
func driverOf(a plan.Arm) string { return cmp.Or(a.Driver, plan.DriverClient) }
