package consistency

import (
	"fmt"
	"maps"

	"wirelab/lab/kind/kinds"
	"wirelab/lab/result"
	"wirelab/lab/result/effect"
	"wirelab/lab/result/words"
	"wirelab/lab/stat"
)

// Flaw is a contradiction in a result.
type Flaw struct {
	Path string // in its JSON: "rounds[3].trials[1].sent"
	Says string // in words
}

// Flaws returns what in a result cannot have been measured, whatever the figures: counts that do not add up, rounds
// out of order, trials of arms that the plan does not have. A failed experiment that says so has none. nil does not
// prove that the figures are true.
func Flaws(r *result.Result) []Flaw {
	c := &consistency{}
	if _, err := r.Plan.Complete(); err != nil {
		c.add("plan", "no experiment can have this plan: %v", err)
	}
	if len(r.Arms) != len(r.Plan.Arms) {
		c.add("arms", "%d are described, the plan has %d", len(r.Arms), len(r.Plan.Arms))
	}
	for i := range min(len(r.Arms), len(r.Plan.Arms)) {
		if is, want := r.Arms[i], r.Plan.Arms[i]; is.Name != want.Name || is.Protocol != want.Protocol {
			c.add(fmt.Sprintf("arms[%d]", i), "it is %s over %s, in the plan %s over %s", is.Name, is.Protocol,
				want.Name, want.Protocol)
		}
	}
	c.within(r)
	if r.SelfTest != nil {
		c.selfTest(r)
		return c.flaws
	}
	if r.Capacity != nil {
		c.capacity(r)
		return c.flaws
	}
	c.ending(r)
	last := r.Began
	for n := range r.Rounds {
		path := fmt.Sprintf("rounds[%d]", n)
		if began := r.Rounds[n].Began; began.Before(last) || began.After(r.Ended) {
			c.add(path+".began", "it is out of order: not between what came before and the end")
		} else {
			last = began
		}
		c.round(r, path, &r.Rounds[n])
		c.noise(path+".noise", &r.Rounds[n].Noise)
	}
	c.remade(r)
	return c.flaws
}

type consistency struct{ flaws []Flaw }

// selfTest checks a report of trials of wirelab itself. It has tests instead of rounds, so the plan's number of
// rounds does not apply.
func (c *consistency) selfTest(r *result.Result) {
	if len(r.Rounds) > 0 {
		c.add("rounds", "a self-test has no rounds")
	}
	switch {
	case r.Ended.Before(r.Began):
		c.add("ended", "it ended before it began")
	case r.Ending == result.RoundsDone && len(r.SelfTest.Tests) == 0:
		c.add("ending", "%q without a test", r.Ending)
	case r.Ending != result.RoundsDone && r.Ending != result.Interrupted && r.Ending != result.Failed:
		c.add("ending", "a self-test has no ending %q", r.Ending)
	}
	for i, t := range r.SelfTest.Tests {
		if t.Pass && t.Refused {
			c.add(fmt.Sprintf("self_test.tests[%d].refused", i), "the test passed, so nothing was refused")
		}
	}
}

func (c *consistency) add(path, format string, args ...any) {
	c.flaws = append(c.flaws, Flaw{path, fmt.Sprintf(format, args...)})
}

// ending checks that the experiment ended in the recorded way.
func (c *consistency) ending(r *result.Result) {
	n, p := len(r.Rounds), r.Plan
	if r.Ended.Before(r.Began) {
		c.add("ended", "it ended before it began")
	}
	if p.Rounds.Max > 0 && n > p.Rounds.Max {
		c.add("rounds", "%d, the plan allows %d", n, p.Rounds.Max)
	}
	switch r.Ending {
	case result.Interrupted, result.Failed:
	case result.WidthReached:
		if width, ok := effect.PrimaryWidth(r); !ok || width > p.Until {
			c.add("ending", "%q, but the primary metric's interval is ±%.3g %%, asked for was ±%.3g %%", r.Ending,
				100*width, 100*p.Until)
		}
	case result.RoundsDone, result.TimeUsed:
		if n < p.Rounds.Min {
			c.add("ending", "%q after %d rounds, the plan asks for %d", r.Ending, n, p.Rounds.Min)
		}
	default:
		c.add("ending", "there is no ending %q", r.Ending)
	}
}

func (c *consistency) round(r *result.Result, path string, round *result.Round) {
	type place struct{ arm, load int }
	seen := map[place]bool{}
	failed := map[int]bool{}
	for _, f := range round.Failures {
		failed[f.Arm] = true
	}
	for i := range round.Trials {
		t, path := &round.Trials[i], fmt.Sprintf("%s.trials[%d]", path, i)
		at := place{t.Arm, t.Load}
		switch {
		case t.Arm < 0 || t.Arm >= len(r.Plan.Arms):
			c.add(path+".arm", "%d, the plan has %d arms", t.Arm, len(r.Plan.Arms))
			continue
		case t.Load < 0 || t.Load >= len(r.Plan.Loads):
			c.add(path+".load", "%d, the plan has %d loads", t.Load, len(r.Plan.Loads))
			continue
		case seen[at]:
			c.add(path, "a second trial of arm %d under load %d in the round", t.Arm, t.Load)
		case failed[t.Arm]:
			c.add(path, "the round has a failure of arm %d, and so no trial of it", t.Arm)
		}
		seen[at] = true
		c.trial(r, path, t)
	}
}

func (c *consistency) trial(r *result.Result, path string, t *result.Trial) {
	p := r.Plan
	c.counts(path, t)
	c.spent(path, t)
	c.halves(path, t)
	c.causes(path, t)
	c.drivers(r, path, t)
	for _, k := range kinds.All() {
		k.Flaws(path, t, p.Loads[t.Load], c.add)
	}
	if open := p.Loads[t.Load].Open(); !open && (t.Planned > 0 || t.Late > 0) {
		c.add(path+".planned", "a closed loop plans no calls")
	}
	if len(t.Order) != p.Slices {
		c.add(path+".order", "%d slices, the plan has %d", len(t.Order), p.Slices)
	}
	if p.Arms[t.Arm].Target != "" && t.Server != nil && result.ArmOf(r, t.Arm).Process == nil {
		c.add(path+".server", "the server is not ours and its process is unknown, so it cannot have these figures")
	}
}

// drivers checks that the measurements of the drivers on hosts add up to the trial, and that their hosts are known.
func (c *consistency) drivers(r *result.Result, path string, t *result.Trial) {
	if len(t.Drivers) == 0 {
		return
	}
	var planned, sent, ok, late, unsent uint64
	for i, d := range t.Drivers {
		at := fmt.Sprintf("%s.drivers[%d]", path, i)
		planned, sent, ok, late, unsent = planned+d.Planned, sent+d.Sent, ok+d.OK, late+d.Late, unsent+d.Unsent
		if r.HostCores(d.Host) == 0 {
			c.add(at+".host", "nothing is known of host %q", d.Host)
		}
		if d.Response.Count() != d.OK || d.Service.Count() != d.OK {
			c.add(at+".response", "it holds %d and %d times, %d calls were right", d.Response.Count(),
				d.Service.Count(), d.OK)
		}
	}
	for _, sum := range []struct {
		name     string
		sum, all uint64
	}{
		{"planned", planned, t.Planned},
		{"sent", sent, t.Sent},
		{"ok", ok, t.OK},
		{"late", late, t.Late},
		{"unsent", unsent, t.Unsent},
	} {
		if sum.sum != sum.all {
			c.add(path+".drivers", "their %s are %d together, those of the trial %d", sum.name, sum.sum, sum.all)
		}
	}
}

// causes checks that the causes of each kind of failure add up to it.
func (c *consistency) causes(path string, t *result.Trial) {
	if len(t.Causes) == 0 {
		return
	}
	of := map[string]uint64{}
	for i, one := range t.Causes {
		of[one.Kind] += one.Count
		if len(one.First) > stat.TextLimit || len(one.Kind) > stat.TextLimit || len(one.Cause) > stat.TextLimit {
			c.add(fmt.Sprintf("%s.causes[%d]", path, i), "a text of more than %d bytes", stat.TextLimit)
		}
	}
	if len(t.Causes) > stat.CauseLimit+len(t.Errors) {
		c.add(path+".causes", "%d causes", len(t.Causes))
	}
	if !maps.Equal(of, t.Errors) {
		c.add(path+".causes", "the causes do not add up to the errors: %s and %s", words.Kinds(of),
			words.Kinds(t.Errors))
	}
}

// counts checks that a trial's counts add up and that its histograms have as many times.
func (c *consistency) counts(path string, t *result.Trial) {
	bad := uint64(0)
	for _, n := range t.Errors {
		bad += n
	}
	if t.OK+bad != t.Sent {
		c.add(path+".sent", "%d calls begun, but %d right and %d failed", t.Sent, t.OK, bad)
	}
	if t.Told != nil {
		c.told(path, t)
	}
	for _, h := range []struct {
		name string
		of   *stat.Histogram
		may  bool // may be empty: the closed loop has no lag, and a tool reports no times
	}{{"response", t.Response, t.Told != nil}, {"service", t.Service, t.Told != nil}, {"lag", t.Lag, true}} {
		switch {
		case h.of == nil:
			c.add(path+"."+h.name, "there is none")
		case h.may && h.of.Count() > 0 && h.of.Count() >= t.OK && h.of.Count() <= t.Sent:
			// of every call made, those that failed too // of every call made, including failed ones
		case h.of.Count() != t.OK && (!h.may || h.of.Count() > 0):
			c.add(path+"."+h.name, "it holds %d times, %d calls were right", h.of.Count(), t.OK)
		}
	}
	if calls := t.Calls(); t.Completed > calls { // calls made in the unrecorded first part may end in the window
		c.add(path+".completed", "%d calls ended in the window, only %d were made", t.Completed, calls)
	}
	if t.Watched > 0 && t.Watched < t.OK {
		c.add(path+".watched", "%d calls were watched, more (%d) were right", t.Watched, t.OK)
	}
	if t.Window <= 0 && t.Sent > 0 {
		c.add(path+".window", "%d calls in no time", t.Sent)
	}
	if t.Planned > 0 && t.Sent+t.Unsent > t.Planned {
		c.add(path+".planned", "%d calls were due, but %d made and %d given up", t.Planned, t.Sent, t.Unsent)
	}
	if t.Failed != nil && t.Failed.Count() != bad+t.Unsent {
		c.add(path+".failed", "it holds %d times, %d calls failed and %d were given up", t.Failed.Count(), bad,
			t.Unsent)
	}
	if t.Punctual != nil && t.Punctual.Count() != t.OK {
		c.add(path+".punctual", "it holds %d times, %d calls were right", t.Punctual.Count(), t.OK)
	}
	if t.Outside != nil && t.Outside.Count() != t.OK {
		c.add(path+".outside", "it holds %d times, %d calls were right", t.Outside.Count(), t.OK)
	}
	if t.Wake != nil && t.Wake.Count()+t.Late != t.Sent {
		c.add(path+".wake", "it holds %d times, of %d calls made %d found no free worker", t.Wake.Count(), t.Sent, t.Late)
	}
}

// told checks that a trial has nothing that only our own drivers report.
func (c *consistency) told(path string, t *result.Trial) {
	if n := t.Response.Count() + t.Service.Count(); n > 0 {
		c.add(path+".told", "%s made the calls and tells no times, but there are %d", t.Told.Tool, n)
	}
	if n := t.WireSent + t.WireReceived + t.Payload; n > 0 {
		c.add(path+".told", "%s made the calls over its own sockets, but %d bytes were counted", t.Told.Tool, n)
	}
}
