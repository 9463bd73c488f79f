package gate

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"wirelab/lab/result"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/words"
)

// Tool is the program that made the subject's calls; "" for our own drivers.
func (s *Subject) Tool() string {
	for _, t := range s.Trials {
		if t.Told != nil {
			return cmp.Or(t.Told.Tool, "another program")
		}
	}
	return ""
}

// Told applies the gates on replies and warm-ups to an arm that a tool drives. It says who counted the calls, and
// which values are unknown.
func (s *Subject) Told(tool string) {
	failed := uint64(0)
	for _, n := range s.All.Errors {
		failed += n
	}
	wrong, _ := s.Each(func(_ int, t *result.Trial) (float64, bool, bool) {
		return float64(t.Wrong()), t.Wrong() == 0,
			true
	})
	s.Add(claim.Check{
		Gate: result.Answers, OK: failed == 0, Value: float64(failed), Unit: s.things(), Rounds: wrong,
		Detail: words.Choose(failed == 0,
			"replies not checked: "+tool+" counted "+words.Thousands(s.All.OK)+" as answered",
			tool+" counted "+words.Thousands(failed)+" of "+words.Thousands(s.All.Sent)+" calls as failed"),
		Fix: "run the arm with a driver of wirelab, which reports what was wrong (--driver client)",
	})
	s.State.Tool = tool
	s.toldRate(tool)
	s.State.Notes = append(s.State.Notes, toldNote(tool))
}

// toldRateShare is the allowed deviation from the plan's rate. The time that a tool reports includes its start and
// its last call.
const toldRateShare = 0.02

// toldRate compares the rate of a tool's calls with the plan's. A tool does not report which calls were due when.
func (s *Subject) toldRate(tool string) {
	if !s.Load.Open() || s.Load.Rate <= 0 {
		return
	}
	most := func(window time.Duration, slices int) float64 {
		_, slack := s.expected(window, slices)
		return max(slack, toldRateShare*s.Load.Rate*window.Seconds())
	}
	readings, failed := s.Each(func(_ int, t *result.Trial) (float64, bool, bool) {
		window := time.Duration(max(t.Window, 0))
		off := math.Abs(float64(t.Sent) - s.Load.Rate*window.Seconds())
		return claim.Finite(off), off <= most(window, len(t.Order)), t.Window > 0
	})
	due := s.Load.Rate * s.All.Window.Seconds()
	off := math.Abs(float64(s.All.Sent) - due)
	c := claim.Check{
		Gate: result.Schedule, OK: enough(failed, len(readings)), Value: off, Limit: most(s.All.Window, s.All.Slices),
		Unit: "calls from the plan", Rounds: readings,
		Detail: fmt.Sprintf("%s made %s calls, but the rate gives %s", tool, words.Thousands(s.All.Sent),
			words.Thousands(uint64(due))),
		Fix: "a lower --rate, or more calls in flight at most",
	}
	if !c.OK {
		c.Detail = "the rate was not kept: " + c.Detail
	}
	s.Add(c)
}

// toldNote says what is unknown about an arm that a tool drives.
func toldNote(tool string) string {
	return "driven by " + tool +
		": replies were not checked, it is not known whether the warm-up reached a steady state, " +
		"and there are no response times, bytes or floor; the CPU time of the client includes the starts of its " +
		"processes"
}
