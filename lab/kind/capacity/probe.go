package capacity

import (
	"fmt"
	"slices"
	"time"

	"wirelab/lab/kind/curve"
	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/gate"
	"wirelab/lab/result/words"
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
func Judge(c *result.Capacity, r *result.Result, o Objective, p *result.Probe) (result.ProbeOutcome, string) {
	found := judge(c, r, o, p)
	return found.Outcome, found.Why
}

// Told is the result of a probe for a search.
type Told struct {
	Outcome result.ProbeOutcome
	Why     string
	machine bool // it was the machine, and not the generator, that spoiled it
}

func judge(c *result.Capacity, r *result.Result, o Objective, p *result.Probe) Told {
	if gate, why := spoiled(c, r, o, p); why != "" && p.Trial.Errors[result.WrongReply] == 0 {
		machine := gate == result.Steal || gate == result.Neighbours || gate == result.Throttling ||
			gate == result.Clock
		return Told{result.ProbeSpoiled, why, machine}
	}
	outcome, why := kept(o, p)
	return Told{Outcome: outcome, Why: why}
}

// kept says whether an objective is kept in a probe that can be trusted.
func kept(o Objective, p *result.Probe) (result.ProbeOutcome, string) {
	t := &p.Trial
	if t.Errors[result.WrongReply] > 0 {
		return result.ProbeFailed, fmt.Sprintf("%s replies were wrong", words.Thousands(t.Errors[result.WrongReply]))
	}
	if t.Planned == 0 || t.OK == 0 {
		if t.Planned == 0 {
			return result.ProbeSpoiled, "no call was due"
		}
		return result.ProbeFailed, "no call was answered"
	}
	if bad := float64(t.Planned-min(t.OK, t.Planned)) / float64(t.Planned); bad > o.Errors {
		why := ""
		if len(t.Causes) > 0 {
			why = ": " + gate.WhyFailed(t.Causes.Sorted())
		}
		return result.ProbeFailed,
			fmt.Sprintf("errors %s, allowed %s%s", words.Percent(bad), words.Percent(o.Errors), why)
	}
	said := ""
	for _, b := range o.Times {
		value, high, why := upper(p, b)
		if why != "" {
			return result.ProbeSpoiled, why
		}
		text := fmt.Sprintf("%s %v, at most %v", b.Name, words.Brief(value), words.Brief(high))
		if high > b.Limit {
			return result.ProbeFailed, text + ", limit " + LimitText(b.Limit)
		}
		if said != "" {
			said += "; "
		}
		said += text
	}
	return result.ProbePassed, said
}

// upper is a time of a probe and the upper end of its 95 % interval, by the
// jackknife over the parts of its window. why says why there is none.
func upper(p *result.Probe, b TimeBound) (value, high time.Duration, why string) {
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
const ownShare = claim.LagShare

// spoiled tells why a probe cannot be trusted, and by which gate; "" if it can.
func spoiled(c *result.Capacity, r *result.Result, o Objective, p *result.Probe) (result.Gate, string) {
	t := &p.Trial
	alone := &result.Result{
		Plan: r.Plan, Minor: r.Minor, Placement: r.Placement, Environment: r.Environment,
		Rounds: []result.Round{{Noise: p.Noise}},
	}
	s := gate.Subject{
		Result: alone, Arm: t.Arm, Load: plan.Load{Rate: p.Rate, Arrivals: plan.Poisson, InFlight: c.InFlight},
		Trials: []*result.Trial{t}, Rounds: []int{0}, State: &claim.ArmState{},
	}
	s.All = gate.Sum(s.Trials)
	s.Schedule()
	if t.Late == 0 {
		s.Law()
	}
	if cores := s.Cores(alone.Placement.DriverCPUs); cores > 0 {
		s.GeneratorCPU(cores)
		s.GeneratorWaits(cores)
	}
	s.Noise()
	s.WireBytes()
	s.CPUTime()
	for _, check := range s.State.Checks {
		if !check.OK && check.Gate != result.Overload {
			return check.Gate, check.Detail
		}
	}
	return result.OnTime99, late(o, t)
}

// late tells where the generator's own lateness could make the difference: a
// tenth of the calls beyond each quantile may be as late as a twentieth of its
// limit. Pauses of garbage collection are bounded so too, where they hit more.
func late(o Objective, t *result.Trial) string {
	own := gate.OwnLag(t)
	for _, b := range o.Times {
		q := b.Quantile
		if q == 0 {
			q = 0.9
		}
		q = 1 - (1-q)/10
		limit := time.Duration(ownShare * float64(b.Limit))
		if own != nil && own.Count() > 0 {
			if is := time.Duration(own.Quantile(q)); is > limit {
				return fmt.Sprintf("generator late: %s later than %v after it was due, the limit is %v",
					gate.OneIn(q, "call was made"), words.Brief(is), limit)
			}
		}
		if u := gate.Used(t); u != nil && t.Calls() > 0 && time.Duration(u.PauseP99) > limit && gate.Hit(t, u) > 1-q {
			return fmt.Sprintf("generator stopped: garbage collection stopped it for up to %v, the limit is %v",
				words.Brief(time.Duration(u.PauseP99)), limit)
		}
	}
	return ""
}

// Again makes a search again from its probes: what it found, with each probe
// judged anew, and where the probes are not those of such a search.
func Again(c *result.Capacity, r *result.Result, o Objective,
	s *result.CapacitySearch,
) (found claim.Found, all []Told, wrong string) {
	search := SearchFrom(c, o, closedRate(s))
	if closedRate(s) <= 0 {
		return claim.Found{Kind: claim.CapacityUnknown}, nil, "the closed loop answered nothing"
	}
	for i := range s.Probes {
		p := &s.Probes[i]
		if rate, more := search.Next(); wrong == "" && (!more || rate != p.Rate) {
			wrong = fmt.Sprintf("probe %d is at %s, where the search goes on at %s", i+1, curve.PerSecond(p.Rate),
				curve.PerSecond(rate))
		}
		found := judge(c, r, o, p)
		all = append(all, found)
		if wrong == "" {
			search.Tell(found.Outcome)
		}
	}
	if _, more := search.Next(); more && wrong == "" {
		wrong = "the search was not over"
	}
	return search.Found(), all, wrong
}

// lastRefused is the reason of the last probe at a rate that did not pass, and
// whether that was the machine.
func lastRefused(s *result.CapacitySearch, all []Told, rate float64) (why string, machine bool) {
	for i, t := range slices.Backward(all) {
		if t.Outcome != result.ProbePassed && s.Probes[i].Rate == rate {
			return "at " + curve.PerSecond(s.Probes[i].Rate) + " " + t.Why, t.machine
		}
	}
	return "", false
}
