package store

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"wirelab"
	"wirelab/lab/plan"
	"wirelab/lab/result"
)

// Running is the progress of a running experiment.
type Running struct {
	ID       string    `json:"id"` // the id that its result will have
	Name     string    `json:"name,omitempty"`
	Workload string    `json:"workload"`
	Host     string    `json:"host,omitempty"`
	Began    time.Time `json:"began"`
	// Operations, Protocols, Arms and Loads are as in a [Summary]. ArmNames and LoadNames have the names for Arm and
	// Load, in the plan's order.
	Operations []string `json:"operations"`
	Protocols  []string `json:"protocols"`
	Arms       int      `json:"arms"`
	Loads      int      `json:"loads"`
	ArmNames   []string `json:"arm_names,omitempty"`
	LoadNames  []string `json:"load_names,omitempty"`

	// Phase is what it does now: "measuring", "round over".
	Phase string `json:"phase"`
	Round int    `json:"round"` // from 1
	// RoundsMin and RoundsMax are the limits of the rounds; 0 if not known.
	RoundsMin int    `json:"rounds_min,omitempty"`
	RoundsMax int    `json:"rounds_max,omitempty"`
	Step      int    `json:"step"` // step of the round, from 0
	Steps     int    `json:"steps"`
	Arm       string `json:"arm,omitempty"`
	Load      string `json:"load,omitempty"`
	// Elapsed is the time since Began. Left is the time left; 0 if not known.
	Elapsed plan.Duration `json:"elapsed"`
	Left    plan.Duration `json:"left,omitempty"`
	// Width is the widest half-width of the primary metric as a share, 0 before there is one. Goal is the width at
	// which the experiment ends, 0 if there is none.
	Width float64 `json:"width,omitempty"`
	Goal  float64 `json:"goal,omitempty"`

	// Standing is the analysis after the round Standing.Round. In a Report, nil keeps the previous one: it is large,
	// and changes only once per round.
	Standing *Standing `json:"standing,omitempty"`

	// Reported is when this was reported, to the microsecond. In a Report, the zero value means now by the store's
	// clock. Callers should use it, since the clocks of several machines differ.
	Reported time.Time `json:"reported"`
	// Stale reports whether there was no progress for [StaleAfter]: the process may have been killed. Report ignores
	// it.
	Stale bool `json:"stale"`
}

// Standing is a look at the unfinished data of an experiment. None of its verdicts counts before the end, and a page
// that shows it says so.
type Standing struct {
	Round int `json:"round"` // complete rounds
	// Analysis is a [claim.Analysis] as JSON, with its gates and claims. The store does not read it.
	Analysis json.RawMessage `json:"analysis"`
}

// How long the progress of an experiment is kept, and how many are listed.
const (
	// StaleAfter is how long an experiment without progress counts as running. A running experiment reports at least
	// every second; longer pauses come from a slow store.
	StaleAfter = 30 * time.Second
	// ForgottenAfter is how long the progress of an experiment that stopped reporting is kept, so that users can see
	// that it stopped.
	ForgottenAfter = time.Hour
	// RunningLimit is the greatest number of experiments that Running returns.
	RunningLimit = 100

	runningBytes = 1 << 20
)

// StartRunning returns the progress of an experiment before its first step.
func StartRunning(id string, began time.Time, p plan.Plan, host string) Running {
	s := Summarize(&result.Result{ID: id, Began: began, Plan: p, Environment: result.Environment{Host: host}})
	r := Running{
		ID: id, Name: s.Name, Workload: s.Workload, Host: host, Began: s.Began,
		Operations: s.Operations, Protocols: s.Protocols, Arms: s.Arms, Loads: s.Loads,
	}
	for _, a := range p.Arms {
		r.ArmNames = append(r.ArmNames, a.Name)
	}
	for _, l := range p.Loads {
		r.LoadNames = append(r.LoadNames, l.String())
	}
	return r
}

// EncodeRunning returns progress as JSON, the form in which stores keep it, after [CheckRunning]. The standing is
// separate, and nil if there is none. Stores use it, so that they all keep the same.
func EncodeRunning(r Running) (news, standing []byte, err error) {
	if err := CheckRunning(r); err != nil {
		return nil, nil, err
	}
	told := r.Standing
	r.Standing, r.Stale, r.Reported = nil, false, time.Time{}
	if news, err = json.Marshal(r); err == nil && told != nil {
		standing, err = json.Marshal(told)
	}
	if err != nil {
		return nil, nil, wirelab.Errorf(wirelab.InvalidArgument, "news of %s: %v", r.ID, err)
	}
	if size := len(news) + len(standing); size > runningBytes {
		return nil, nil, wirelab.Errorf(wirelab.InvalidArgument, "news of %s has %d bytes, more than %d", r.ID, size,
			runningBytes)
	}
	return news, standing, nil
}

// DecodeRunning reads what [EncodeRunning] wrote. It was reported at the time reported; now decides whether it is
// stale.
func DecodeRunning(news, standing []byte, reported, now time.Time) (Running, error) {
	var r Running
	err := json.Unmarshal(news, &r)
	if err == nil && standing != nil {
		err = json.Unmarshal(standing, &r.Standing)
	}
	if err != nil {
		return Running{}, wirelab.Errorf(wirelab.Internal, "news of an experiment is damaged: %v", err)
	}
	r.Reported = reported.UTC()
	r.Stale = now.Sub(reported) >= StaleAfter
	return r, nil
}

// CheckRunning returns an error if progress cannot be stored. The error is InvalidArgument.
func CheckRunning(r Running) error {
	switch {
	case !idForm.MatchString(r.ID):
		return wirelab.Errorf(wirelab.InvalidArgument, "id %.40q is not like r-20261121-140512-7f3a", r.ID)
	case r.Workload == "" || r.Phase == "":
		return wirelab.Errorf(wirelab.InvalidArgument, "news of %s lacks the workload or the phase", r.ID)
	case slices.ContainsFunc(slices.Concat([]string{r.Name, r.Workload, r.Host, r.Phase, r.Arm, r.Load},
		r.Operations, r.Protocols, r.ArmNames, r.LoadNames), unfit):
		return wirelab.Errorf(wirelab.InvalidArgument, "news of %s has text that is not text", r.ID)
	case r.Standing != nil && !json.Valid(r.Standing.Analysis):
		return wirelab.Errorf(wirelab.InvalidArgument, "news of %s: its analysis is not JSON", r.ID)
	}
	return nil
}

// unfit reports whether a database may refuse a text.
func unfit(s string) bool { return !utf8.ValidString(s) || strings.ContainsRune(s, 0) }
