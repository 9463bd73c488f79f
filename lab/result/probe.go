package result

import (
	"fmt"
	"slices"
	"time"

	"wirelab/lab/plan"
	"wirelab/lab/stat"
)

// Judge says whether an arm kept an objective in a probe, and why:
//
//   - spoiled, where the generator or the machine was not fit to tell, or too
//     few calls were made for the quantile;
//   - failed, where a reply was wrong, more calls than allowed failed or could
//     not be made, or the upper end of a time's 95 % interval is beyond its
//     limit. Calls that failed count as slower than any;
//   - else passed.
//
// r is the result that the probe is of: where its processes ran counts.
func (c *Capacity) Judge(r *Result, o Objective, p *Probe) (ProbeOutcome, string) {
	found := c.judge(r, o, p)
	return found.outcome, found.why
}

// told is what a search is told of a probe.
type told struct {
	outcome ProbeOutcome
	why     string
	machine bool // it was the machine, and not the generator, that spoiled it
}

func (c *Capacity) judge(r *Result, o Objective, p *Probe) told {
	if gate, why := c.spoiled(r, o, p); why != "" && p.Trial.Errors[WrongReply] == 0 {
		machine := gate == Steal || gate == Neighbours || gate == Throttling || gate == Clock
		return told{ProbeSpoiled, why, machine}
	}
	outcome, why := kept(o, p)
	return told{outcome: outcome, why: why}
}

// kept says whether an objective is kept in a probe that can be trusted.
func kept(o Objective, p *Probe) (ProbeOutcome, string) {
	t := &p.Trial
	if t.Errors[WrongReply] > 0 {
		return ProbeFailed, fmt.Sprintf("%s replies were wrong", Thousands(t.Errors[WrongReply]))
	}
	if t.Planned == 0 || t.OK == 0 {
		if t.Planned == 0 {
			return ProbeSpoiled, "no call was due"
		}
		return ProbeFailed, "no call was answered"
	}
	if bad := float64(t.Planned-min(t.OK, t.Planned)) / float64(t.Planned); bad > o.Errors {
		why := ""
		if len(t.Causes) > 0 {
			why = ": " + whyFailed(t.Causes.Sorted())
		}
		return ProbeFailed, fmt.Sprintf("errors %s, allowed %s%s", percent(bad), percent(o.Errors), why)
	}
	said := ""
	for _, b := range o.Times {
		value, high, why := upper(p, b)
		if why != "" {
			return ProbeSpoiled, why
		}
		text := fmt.Sprintf("%s %v, at most %v", b.Name, brief(value), brief(high))
		if high > b.Limit {
			return ProbeFailed, text + ", limit " + LimitText(b.Limit)
		}
		if said != "" {
			said += "; "
		}
		said += text
	}
	return ProbePassed, said
}

// upper is a time of a probe and the upper end of its 95 % interval, by the
// jackknife over the parts of its window. why says why there is none.
func upper(p *Probe, b TimeBound) (value, high time.Duration, why string) {
	var e stat.Estimate
	var err error
	if b.Quantile == 0 {
		means, none := make([]float64, len(p.Parts)), make([]float64, len(p.Parts))
		for i, h := range p.Parts {
			if h.Count() == 0 {
				return 0, 0, "too few calls: a part of the probe has none"
			}
			means[i] = h.Mean()
		}
		e, err = stat.PairedDifference(none, means, stat.DefaultAlpha)
	} else {
		// What failed lies beyond every quantile, so that among the calls
		// answered the quantile is as much further out.
		q := b.Quantile * float64(p.Trial.Planned) / float64(p.Trial.OK)
		if q >= 1 {
			return 0, time.Hour, ""
		}
		e, err = stat.QuantileInterval(p.Parts, q, stat.DefaultAlpha)
	}
	if err != nil {
		return 0, 0, "too few calls for " + b.Name + " in a probe so short"
	}
	return time.Duration(e.Value), time.Duration(min(e.High, float64(time.Hour))), ""
}

// ownShare of an objective's limit is what the generator may be late by, where
// its own share of the calls is a tenth of what lies beyond the quantile.
const ownShare = lagShare

// spoiled tells why a probe cannot be trusted, and by which gate; "" if it can.
func (c *Capacity) spoiled(r *Result, o Objective, p *Probe) (Gate, string) {
	t := &p.Trial
	alone := &Result{Plan: r.Plan, Minor: r.Minor, Placement: r.Placement, Environment: r.Environment, Rounds: []Round{{Noise: p.Noise}}}
	s := subject{
		result: alone, arm: t.Arm, load: plan.Load{Rate: p.Rate, Arrivals: plan.Poisson, InFlight: c.InFlight},
		trials: []*Trial{t}, rounds: []int{0}, state: &ArmState{},
	}
	s.all = sum(s.trials)
	s.schedule()
	if t.Late == 0 {
		s.law()
	}
	if cores := s.cores(alone.Placement.DriverCPUs); cores > 0 {
		s.generatorCPU(cores)
		s.generatorWaits(cores)
	}
	s.noise()
	s.wireBytes()
	s.cpuTime()
	for _, check := range s.state.Checks {
		if !check.OK && check.Gate != Overload {
			return check.Gate, check.Detail
		}
	}
	return OnTime99, late(o, t)
}

// late tells where the generator's own lateness could make the difference: a
// tenth of the calls beyond each quantile may be as late as a twentieth of its
// limit. Pauses of garbage collection are bounded so too, where they hit more.
func late(o Objective, t *Trial) string {
	own := ownLag(t)
	for _, b := range o.Times {
		q := b.Quantile
		if q == 0 {
			q = 0.9
		}
		q = 1 - (1-q)/10
		limit := time.Duration(ownShare * float64(b.Limit))
		if own != nil && own.Count() > 0 {
			if is := time.Duration(own.Quantile(q)); is > limit {
				return fmt.Sprintf("generator late: %s later than %v after it was due, the limit is %v", oneIn(q, "call was made"), brief(is), limit)
			}
		}
		if u := used(t); u != nil && t.Calls() > 0 && time.Duration(u.PauseP99) > limit && hit(t, u) > 1-q {
			return fmt.Sprintf("generator stopped: garbage collection stopped it for up to %v, the limit is %v", brief(time.Duration(u.PauseP99)), limit)
		}
	}
	return ""
}

// again makes a search again from its probes: what it found, with each probe
// judged anew, and where the probes are not those of such a search.
func (c *Capacity) again(r *Result, o Objective, s *CapacitySearch) (found Found, all []told, wrong string) {
	search := c.Search(o, s.closedRate())
	if s.closedRate() <= 0 {
		return Found{Kind: CapacityUnknown}, nil, "the closed loop answered nothing"
	}
	for i := range s.Probes {
		p := &s.Probes[i]
		if rate, more := search.Next(); wrong == "" && (!more || rate != p.Rate) {
			wrong = fmt.Sprintf("probe %d is at %s, where the search goes on at %s", i+1, perSecond(p.Rate), perSecond(rate))
		}
		found := c.judge(r, o, p)
		all = append(all, found)
		if wrong == "" {
			search.Tell(found.outcome)
		}
	}
	if _, more := search.Next(); more && wrong == "" {
		wrong = "the search was not over"
	}
	return search.Found(), all, wrong
}

// lastRefused is the reason of the last probe at a rate that did not pass, and
// whether that was the machine.
func lastRefused(s *CapacitySearch, all []told, rate float64) (why string, machine bool) {
	for i, t := range slices.Backward(all) {
		if t.outcome != ProbePassed && s.Probes[i].Rate == rate {
			return "at " + perSecond(s.Probes[i].Rate) + " " + t.why, t.machine
		}
	}
	return "", false
}
