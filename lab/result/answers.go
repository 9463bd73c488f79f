package result

import (
	"cmp"
	"fmt"
	"strings"
)

// answers applies the gates on replies: every call begun is accounted for, and
// every reply was right. One wrong reply in all rounds is too many: a server
// that may skip its work can be as fast as it likes.
func (s *subject) answers() {
	failed := uint64(0)
	for _, n := range s.all.errors {
		failed += n
	}
	wrong, _ := s.each(func(_ int, t *Trial) (float64, bool, bool) { return float64(t.wrong()), t.wrong() == 0, true })
	if s.all.sent == 0 && s.all.ok == 0 {
		s.add(Check{
			Gate: Answers, Unit: s.things(), Detail: "no " + strings.TrimSuffix(s.things(), "s") + " was due in any slice",
			Fix: "make slices longer (--slice) or the rate higher: a slice needs several " + s.things(),
		})
		s.accounts(failed)
		return
	}
	s.add(Check{
		Gate: Answers, OK: failed == 0, Value: float64(failed), Unit: s.things(), Rounds: wrong,
		Detail: choose(failed == 0, Thousands(s.all.ok)+" "+s.manner.Replies+" checked, all right",
			fmt.Sprintf("%s of %s %s failed: %s", Thousands(failed), Thousands(s.all.sent), s.things(), s.whyFailed())),
		Fix: cmp.Or(s.manner.Remedy, s.remedy()),
	})
	s.accounts(failed)
}

// sends applies the gates on the answers to sends.
func (s *subject) sends() {
	if !s.load.Fails() {
		s.answers()
		return
	}
	s.refusals()
	failed := uint64(0)
	for _, n := range s.all.errors {
		failed += n
	}
	s.accounts(failed)
}

// accounts checks that every call begun is accounted for, so many having failed.
func (s *subject) accounts(failed uint64) {
	timed := s.response()
	ok := s.all.ok+failed == s.all.sent && timed.Count() == s.all.ok
	lost, _ := s.each(func(_ int, t *Trial) (float64, bool, bool) {
		missing := float64(t.Sent) - float64(t.OK) - float64(t.wrong())
		return missing, missing == 0, true
	})
	s.add(Check{
		Gate: Accounts, OK: ok, Value: float64(s.all.sent) - float64(s.all.ok) - float64(failed), Unit: s.things(), Rounds: lost,
		Detail: choose(ok, Thousands(s.all.sent)+" "+s.things()+" "+s.manner.Begun+", all accounted for",
			fmt.Sprintf("the accounts do not add up: %s %s begun, %s answered, %s failed, %s timed",
				Thousands(s.all.sent), s.things(), Thousands(s.all.ok), Thousands(failed), Thousands(timed.Count()))),
		Fix: "this is a fault of the generator or of the file: report it",
	})
}

// steady applies the gate on warm-ups. That a service never settles is a
// result, and the report says so in these words and not as a fault.
func (s *subject) steady() {
	readings, failed := s.each(func(_ int, t *Trial) (float64, bool, bool) {
		if t.Steady {
			return 0, true, true
		}
		return 1, false, true
	})
	ok := enough(failed, s.all.rounds)
	s.add(Check{
		Gate: Steady, OK: ok, Value: float64(failed) / float64(s.all.rounds), Limit: spoiledShare, Unit: "of rounds", Rounds: readings,
		Detail: choose(ok, fmt.Sprintf("steady in %d of %d rounds", s.all.rounds-failed, s.all.rounds),
			fmt.Sprintf("no steady state after warm-up in %d of %d rounds", failed, s.all.rounds)),
		Fix: "warm up longer (warm_up in the plan); if it still never settles, that is the finding",
	})
	if failed > 0 && ok {
		s.state.Notes = append(s.state.Notes, fmt.Sprintf("not steady after warm-up in %d of %d rounds (kept)", failed, s.all.rounds))
	}
	if d := s.all.drifting; d > 0 && !enough(d, s.all.rounds) {
		s.state.Notes = append(s.state.Notes, fmt.Sprintf("still drifting at the end of the warm-up in %d of %d rounds", d, s.all.rounds))
	}
}

// things is what a load is made of.
func (s *subject) things() string { return s.manner.Things }
