package resulttest

import (
	"encoding/json"
	"math"
	"reflect"
	"strconv"
	"strings"

	"wirelab/lab/result"
	"wirelab/lab/result/claim"
)

// Refused returns results in which a check refuses every figure of the second arm: one of each kind, by its name.
// They have calls, streams, messages, entries with their processes, databases and curves. They have only the rounds
// and rates that a claim needs, because tests write every form of each, which takes time in proportion to the trials.
func Refused() map[string]*result.Result {
	const rounds = 10
	all := map[string]*result.Result{
		"calls": Closed(), "open": Open(), "streams": Streams(), "messages": MessageScenarios(),
		"entries": Pipeline(), "database": Ledger(), "curve": fewRates(rounds), "decisions": FourWays(rounds),
	}
	for _, round := range all["messages"].Rounds {
		for i := range round.Trials {
			if t := &round.Trials[i]; t.Arm == 1 {
				t.Messages.Missing++
			}
		}
	}
	capacity := Capacity()
	for n := range capacity.Capacity.Rounds {
		for i := range capacity.Capacity.Rounds[n].Searches {
			if s := &capacity.Capacity.Rounds[n].Searches[i]; s.Arm == 1 {
				s.Closed.Errors = map[string]uint64{result.WrongReply: 1}
			}
		}
	}
	all["capacity"] = capacity
	for _, r := range all {
		r.Rounds = r.Rounds[:min(rounds, len(r.Rounds))]
		Refuse(r)
	}
	return all
}

// fewRates is a curve whose arms keep up, fall behind and collapse.
func fewRates(rounds int) *result.Result {
	return Curve([]Server{
		{Name: "grpc", Protocol: "grpc", Rate: 2000}, {Name: "connect", Protocol: "connect", Rate: 1600, Falls: 1900},
	}, []float64{300, 800, 1300, 1700, 1900, 2200}, rounds)
}

// Refuse gives the second arm of a result a wrong reply in each trial, so that a check refuses all its figures, and
// returns the result.
func Refuse(r *result.Result) *result.Result {
	for n := range r.Rounds {
		for i := range r.Rounds[n].Trials {
			if t := &r.Rounds[n].Trials[i]; t.Arm == 1 {
				t.Errors = map[string]uint64{result.WrongReply: 1}
			}
		}
	}
	return r
}

// RefusedValues are the exact refused values of an analysis that cannot be another figure by chance: those with at
// least six decimal places, without numbers such as 1000.0000000000001, which can be another arm's figure too.
func RefusedValues(a *claim.Analysis) map[string]bool {
	values := map[string]bool{}
	refusedValues(reflect.ValueOf(a), values)
	for _, l := range a.Loads {
		for _, arm := range l.Arms {
			delete(values, exact(arm.Planned)) // planned, and achieved exactly
			for _, c := range arm.Checks {
				delete(values, exact(c.Value)) // a check's value is shown with its limit
			}
		}
	}
	return values
}

func exact(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

func refusedValues(v reflect.Value, into map[string]bool) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if one, ok := v.Interface().(*claim.Refused); ok && one != nil {
			if text := exact(one.Value); len(text) > 8 && strings.Contains(text, ".") && !strings.Contains(text, "e") &&
				math.Abs(one.Value-math.Round(one.Value)) > 1e-6 {
				into[text] = true
			}
			return
		}
		if !v.IsNil() {
			refusedValues(v.Elem(), into)
		}
	case reflect.Slice:
		for i := range v.Len() {
			refusedValues(v.Index(i), into)
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			refusedValues(v.MapIndex(key), into)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				refusedValues(v.Field(i), into)
			}
		}
	}
}

// WithoutRefused is a JSON document without its raw data, the member "result", and without the members that hold
// refused values.
func WithoutRefused(data []byte) (string, error) {
	var document any
	if err := json.Unmarshal(data, &document); err != nil {
		return "", err
	}
	if whole, ok := document.(map[string]any); ok {
		delete(whole, "result")
	}
	text, err := json.Marshal(cleaned(document))
	return string(text), err
}

func cleaned(v any) any {
	switch one := v.(type) {
	case map[string]any:
		delete(one, "refused")
		for key := range one {
			one[key] = cleaned(one[key])
		}
	case []any:
		for i := range one {
			one[i] = cleaned(one[i])
		}
	}
	return v
}
