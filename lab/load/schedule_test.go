package load

import (
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"testing"
	"time"
)

// dues returns when the arrivals of s are due, up to end.
func dues(s *Schedule, end time.Duration) (all []time.Duration) {
	a := newArrivals(s)
	for {
		due, ok := a.next()
		if !ok || due >= end {
			return all
		}
		all = append(all, due)
	}
}

func TestConstantRateIsExact(t *testing.T) {
	t.Parallel()
	all := dues(ConstantRate(3), 24*time.Hour)
	if len(all) != 3*24*3600 {
		t.Fatalf("%d arrivals in a day", len(all))
	}
	for k, due := range all {
		if want := time.Duration(math.Round(float64(k) * 1e9 / 3)); due != want {
			t.Fatalf("arrival %d is due at %v, want %v: the error adds up", k, due, want)
		}
	}
}

// TestStagesFollowTheIntegral puts every arrival back into Λ: arrival k of the even law must be due when Λ is k.
func TestStagesFollowTheIntegral(t *testing.T) {
	t.Parallel()
	s := &Schedule{Stages: []Stage{
		{Duration: 2 * time.Second, From: 0, To: 100},
		{Duration: time.Second, From: 100, To: 100},
		{Duration: 500 * time.Millisecond}, // no arrivals
		{Duration: time.Second, From: 200, To: 199.9999},
		{Duration: time.Second, From: 50, To: 0},
		{From: 10, To: 10},
	}}
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	// 100 + 100 + 0 + 200 + 25, then 10 per second.
	for _, c := range []struct {
		at   time.Duration
		want float64
	}{
		{-time.Second, 0},
		{0, 0},
		{time.Second, 25},
		{2 * time.Second, 100},
		{3 * time.Second, 200},
		{3500 * time.Millisecond, 200},
		{4500 * time.Millisecond, 399.99995},
		{5500 * time.Millisecond, 424.99995},
		{6500 * time.Millisecond, 434.99995},
	} {
		if got := s.Expected(c.at); math.Abs(got-c.want) > 1e-6 {
			t.Errorf("Λ(%v) = %v, want %v", c.at, got, c.want)
		}
	}
	all := dues(s, 10*time.Second)
	if len(all) != 470 { // Λ(10 s) = 469.99995, and arrival 0
		t.Errorf("%d arrivals", len(all))
	}
	for k, due := range all {
		// A nanosecond at 200/s is 2e-7 of an arrival, and less where the rate starts from 0.
		if got := s.Expected(due); math.Abs(got-float64(k)) > 1e-6 {
			t.Errorf("arrival %d is due at %v, where Λ is %v", k, due, got)
		}
	}
	if got := dues(&Schedule{Stages: []Stage{{Duration: time.Second, From: 10, To: 10}}}, time.Hour); len(got) != 10 {
		t.Errorf("%d arrivals of a schedule that ends", len(got))
	}
	if got := dues(&Schedule{Stages: []Stage{{}}}, time.Hour); len(got) != 0 {
		t.Errorf("%d arrivals at rate 0", len(got))
	}
}

func TestPoissonArrivals(t *testing.T) {
	t.Parallel()
	all := dues(PoissonRate(1000, 7), 100*time.Second)
	if n := float64(len(all)); math.Abs(n-100_000) > 4*math.Sqrt(100_000) {
		t.Errorf("%v arrivals, want 100,000 ± 4√", n)
	}
	if !reflect.DeepEqual(all, dues(PoissonRate(1000, 7), 100*time.Second)) {
		t.Error("the same seed gives other arrivals")
	}
	if reflect.DeepEqual(all, dues(PoissonRate(1000, 8), 100*time.Second)) {
		t.Error("another seed gives the same arrivals")
	}
	// In a ramp from 0 a quarter of the arrivals fall into the first half of the time.
	ramp := &Schedule{Law: Poisson, Seed: 3, Stages: []Stage{{Duration: 10 * time.Second, From: 0, To: 2000}}}
	early := 0
	all = dues(ramp, time.Hour)
	for _, due := range all {
		if due < 5*time.Second {
			early++
		}
	}
	if n := float64(len(all)); math.Abs(n-10_000) > 400 || math.Abs(float64(early)-2500) > 200 {
		t.Errorf("%v arrivals, %d of them in the first half", n, early)
	}
}

func TestSchedulesThatAreRefused(t *testing.T) {
	t.Parallel()
	second := func(from, to float64) Stage { return Stage{Duration: time.Second, From: from, To: to} }
	for name, s := range map[string]*Schedule{
		"no stage":               {},
		"unknown law":            {Law: "uniform", Stages: []Stage{second(1, 1)}},
		"negative rate":          {Stages: []Stage{second(-1, 1)}},
		"NaN":                    {Stages: []Stage{second(math.NaN(), 1)}},
		"infinite":               {Stages: []Stage{second(1, math.Inf(1))}},
		"too fast":               {Stages: []Stage{second(1, 2e8)}},
		"negative duration":      {Stages: []Stage{{Duration: -1, From: 1, To: 1}}},
		"longer than a day":      {Stages: []Stage{{Duration: 25 * time.Hour, From: 1, To: 1}}},
		"endless in the middle":  {Stages: []Stage{{From: 1, To: 1}, second(1, 1)}},
		"a ramp without an end":  {Stages: []Stage{{From: 1, To: 2}}},
		"bad after several good": {Stages: []Stage{second(1, 1), second(1, 1), second(1, -1)}},
	} {
		if err := s.Validate(); !errors.Is(err, ErrPlan) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSchedulesCrossPipes(t *testing.T) {
	t.Parallel()
	s := &Schedule{
		Law: Poisson, Seed: 1<<63 + 1,
		Stages: []Stage{{Duration: time.Second, From: 1.5, To: 3}, {From: 3, To: 3}},
	}
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var back Schedule
	if err := json.Unmarshal(text, &back); err != nil || !reflect.DeepEqual(*s, back) {
		t.Errorf("%s: %v", text, err)
	}
}

// FuzzSchedule: whatever the stages, arrivals are ordered and at the times that Λ gives.
func FuzzSchedule(f *testing.F) {
	f.Add(10.0, 20.0, int64(time.Second), 5.0, 0.0, int64(time.Second), true)
	f.Add(0.0, 1e-9, int64(1), 1e8, 0.0, int64(10), false)
	f.Fuzz(func(t *testing.T, a, b float64, d int64, c, e float64, g int64, poisson bool) {
		s := &Schedule{Stages: []Stage{
			{Duration: time.Duration(d), From: a, To: b},
			{Duration: time.Duration(g), From: c, To: e},
		}}
		if poisson {
			s.Law = Poisson
		}
		if s.Validate() != nil {
			return
		}
		arrivals, last := newArrivals(s), time.Duration(0)
		for k := range 1000 {
			due, ok := arrivals.next()
			if !ok {
				break
			}
			if due < last || due > time.Duration(d+g) {
				t.Fatalf("arrival %d at %v, the one before at %v", k, due, last)
			}
			last = due
			if poisson {
				continue
			}
			// Half a nanosecond of rounding at the highest rate, and the rounding of Λ itself.
			slack := (max(a, b, c, e)+1)*1e-9 + 1e-9*float64(k+1)
			if got := s.Expected(due); math.Abs(got-float64(k)) > slack {
				t.Fatalf("arrival %d at %v where Λ is %v", k, due, got)
			}
		}
	})
}
