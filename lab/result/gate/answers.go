package gate

import (
	"cmp"
	"fmt"
	"strings"

	"wirelab/lab/result"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/words"
)

// Answers applies the gates on replies: every call that began is accounted for, and every reply was right. A single
// wrong reply in all rounds is too many, because a server that may skip its work can be arbitrarily fast.
func (s *Subject) Answers() {
	failed := uint64(0)
	for _, n := range s.All.Errors {
		failed += n
	}
	wrong, _ := s.Each(func(_ int, t *result.Trial) (float64, bool, bool) {
		return float64(t.Wrong()), t.Wrong() == 0,
			true
	})
	if s.All.Sent == 0 && s.All.OK == 0 {
		s.Add(claim.Check{
			Gate: result.Answers, Unit: s.things(),
			Detail: "no " + strings.TrimSuffix(s.things(), "s") + " was due in any slice",
			Fix:    "make slices longer (--slice) or the rate higher: a slice needs several " + s.things(),
		})
		s.Accounts(failed)
		return
	}
	s.Add(claim.Check{
		Gate: result.Answers, OK: failed == 0, Value: float64(failed), Unit: s.things(), Rounds: wrong,
		Detail: words.Choose(failed == 0, words.Thousands(s.All.OK)+" "+s.Manner.Replies+" checked, all right",
			fmt.Sprintf("%s of %s %s failed: %s", words.Thousands(failed), words.Thousands(s.All.Sent), s.things(),
				s.WhyFailed())),
		Fix: cmp.Or(s.Manner.Remedy, s.remedy()),
	})
	s.Accounts(failed)
}

// Accounts checks that every call that began is accounted for. failed is the number of failed calls.
func (s *Subject) Accounts(failed uint64) {
	timed := s.response()
	ok := s.All.OK+failed == s.All.Sent && timed.Count() == s.All.OK
	lost, _ := s.Each(func(_ int, t *result.Trial) (float64, bool, bool) {
		missing := float64(t.Sent) - float64(t.OK) - float64(t.Wrong())
		return missing, missing == 0, true
	})
	s.Add(claim.Check{
		Gate: result.Accounts, OK: ok, Value: float64(s.All.Sent) - float64(s.All.OK) - float64(failed),
		Unit: s.things(), Rounds: lost,
		Detail: words.Choose(ok, words.Thousands(s.All.Sent)+" "+s.things()+" "+s.Manner.Begun+", all accounted for",
			fmt.Sprintf("the accounts do not add up: %s %s begun, %s answered, %s failed, %s timed",
				words.Thousands(s.All.Sent), s.things(), words.Thousands(s.All.OK), words.Thousands(failed),
				words.Thousands(timed.Count()))),
		Fix: "this is a fault of the generator or of the file: report it",
	})
}

// Steady applies the gate on warm-ups. A service that never becomes steady is a result, and the report presents it as
// one and not as a fault.
func (s *Subject) Steady() {
	readings, failed := s.Each(func(_ int, t *result.Trial) (float64, bool, bool) {
		if t.Steady {
			return 0, true, true
		}
		return 1, false, true
	})
	ok := enough(failed, s.All.Rounds)
	s.Add(claim.Check{
		Gate: result.Steady, OK: ok, Value: float64(failed) / float64(s.All.Rounds), Limit: spoiledShare,
		Unit: "of rounds", Rounds: readings,
		Detail: words.Choose(ok, fmt.Sprintf("steady in %d of %d rounds", s.All.Rounds-failed, s.All.Rounds),
			fmt.Sprintf("no steady state after warm-up in %d of %d rounds", failed, s.All.Rounds)),
		Fix: "warm up longer (warm_up in the plan); if it still does not become steady, that is the finding",
	})
	if failed > 0 && ok {
		s.State.Notes = append(s.State.Notes,
			fmt.Sprintf("not steady after warm-up in %d of %d rounds (kept)", failed, s.All.Rounds))
	}
	if d := s.All.drifting; d > 0 && !enough(d, s.All.Rounds) {
		s.State.Notes = append(s.State.Notes,
			fmt.Sprintf("still drifting at the end of the warm-up in %d of %d rounds", d, s.All.Rounds))
	}
}

// things is the name of the units of a load, such as "calls".
func (s *Subject) things() string { return s.Manner.Things }
