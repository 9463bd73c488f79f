package result

import (
	"reflect"
	"slices"

	"wirelab/lab/plan"
)

// Refused is a value that was measured and that a check refused. It stands beside
// the plain field of the figure, which then holds nothing: no claim, verdict, rank
// or export is made of it, and who shows it marks it and gives the reason.
type Refused struct {
	Value float64 `json:"value"` // in the unit of the plain field
	Why   string  `json:"why"`
	// Shown: a report is to print it, marked. See [Analysis.WithRefused].
	Shown bool `json:"-"`
}

// Refusals are the refused values of several plain fields, each under the name
// that its field has in JSON.
type Refusals map[string]*Refused

// Shown returns a refused value that a report is to print; nil if there is none.
func (r Refusals) Shown(field string) *Refused {
	if one := r[field]; one != nil && one.Shown {
		return one
	}
	return nil
}

// refuse is an estimate whose value may not be used: only the value stays, and apart.
func (e Estimate) refuse(why string) Estimate {
	if !e.Known {
		return Estimate{Why: why}
	}
	return Estimate{Why: why, Refused: &Refused{Value: e.Value, Why: why}}
}

// ShownRefused returns the refused value that a report is to print; nil if there is none.
func (e Estimate) ShownRefused() *Refused {
	if e.Refused != nil && e.Refused.Shown {
		return e.Refused
	}
	return nil
}

// WithRefused returns a copy of the analysis in which every refused value is to be
// printed, marked as refused. Nothing else differs.
func (a *Analysis) WithRefused() *Analysis {
	shown, _ := shownCopy(reflect.ValueOf(a)).Interface().(*Analysis) // it is a copy of a
	return shown
}

// shownCopy copies a value with all that it points at, so that the analysis it is
// of stays as it is, and has each refused value shown.
func shownCopy(v reflect.Value) reflect.Value {
	out := reflect.New(v.Type()).Elem()
	out.Set(v) // unexported fields too, which are never changed
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			out.Set(reflect.New(v.Type().Elem()))
			out.Elem().Set(shownCopy(v.Elem()))
		}
	case reflect.Slice:
		if !v.IsNil() {
			out.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
		}
		for i := range v.Len() {
			out.Index(i).Set(shownCopy(v.Index(i)))
		}
	case reflect.Map:
		if !v.IsNil() {
			out.Set(reflect.MakeMap(v.Type()))
		}
		for _, key := range v.MapKeys() {
			out.SetMapIndex(key, shownCopy(v.MapIndex(key)))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				out.Field(i).Set(shownCopy(v.Field(i)))
			}
		}
		switch one := out.Addr().Interface().(type) {
		case *Refused:
			one.Shown = true
		case *RefusedProbe:
			one.Shown = true
		}
	}
	return out
}

// move takes a value out of its plain field, into the refusals, if there is a reason.
func (r *Refusals) move(field string, plain *float64, why string) {
	if why == "" || *plain == 0 {
		return
	}
	r.put(field, *plain, why)
	*plain = 0
}

func (r *Refusals) put(field string, value float64, why string) {
	if *r == nil {
		*r = Refusals{}
	}
	(*r)[field] = &Refused{Value: value, Why: why}
}

// refuse takes what the failed checks cover out of the arm's figures that are no
// metrics. Accounts of what came, and what did not, stay: a refusal is about them.
func (s *subject) refuse() {
	state := s.state
	why := func(id string) string { return state.Why(MustMetric(id)) }
	whole := ""
	if all := state.Invalid(); len(all) > 0 {
		whole = all[0]
	}
	kind := kindOf(s.load)
	// An arm that does not keep up is refused, and shown by how little it answers.
	if kind.Rate != plan.Throughput {
		state.Refused.move("achieved", &state.Achieved, why(kind.Rate))
	} else if c := refusal(state, s.trials, plan.Throughput); c != nil {
		state.Refused.move("achieved", &state.Achieved, c.Detail)
	}
	f := &state.Floor
	f.Refused.move("times", &f.Times, why(plan.ServiceP50))
	f.Refused.move("headroom", &f.Headroom, why(kind.Rate))
	if d := state.Database; d != nil && whole != "" {
		for i := range d.Counts {
			c := &d.Counts[i]
			c.Refused, c.Value = &Refused{Value: c.Value, Why: whole}, 0
		}
	}
	kind.Refuse(state, why, whole)
}

// refuse takes out the outages that a check refuses: they are longer than what was seen.
func (m *MessageState) refuse(why func(id string) string) {
	for _, o := range []struct {
		field string
		plain *plan.Duration
		why   string
	}{
		{"send_outage", &m.SendOutage, why(plan.SendOutage)},
		{"delivery_outage", &m.DeliveryOutage, why(plan.DeliveryOutage)},
	} {
		if o.why != "" && *o.plain > 0 {
			m.Refused.put(o.field, float64(*o.plain), o.why)
			*o.plain = 0
		}
	}
}

// refuse takes rates and times out of what is known of streams.
func (s *StreamState) refuse(why func(id string) string, whole string) {
	s.Refused.move("achieved", &s.Achieved, why(plan.EventRate))
	for i := range s.Clients {
		c := &s.Clients[i]
		c.Refused.move("achieved", &c.Achieved, why(plan.EventRate))
		c.Refused.move("delivery_p50", &c.DeliveryP50, why(plan.DeliveryP50))
		c.Refused.move("delivery_p99", &c.DeliveryP99, why(plan.DeliveryP99))
		c.Refused.move("jitter_p99", &c.JitterP99, why(plan.JitterP99))
	}
	if b := s.Behind; b != nil {
		for _, f := range []struct {
			field string
			plain *float64
		}{
			{"sent", &b.Sent},
			{"decoded", &b.Decoded},
			{"buffered", &b.Buffered},
			{"pushed_back", &b.PushedBack},
			{"dropped", &b.Dropped},
			{"buffered_bytes", &b.BufferedBytes},
		} {
			b.Refused.move(f.field, f.plain, whole)
		}
	}
}

// refuse takes everything measured out of a point.
func (p Point) refuse(why string) Point {
	for _, e := range []*Estimate{&p.Achieved, &p.Share, &p.Mean, &p.P50, &p.P99, &p.ServerCPU, &p.Cores} {
		*e = e.refuse(why)
	}
	return p
}

// kept is the highest rate at which a search's probes kept the objective by their
// own figures, whether or not they can be trusted; 0: none did.
func (s *CapacitySearch) kept(o Objective) (most float64) {
	for i := range s.Probes {
		if outcome, _ := kept(o, &s.Probes[i]); outcome == ProbePassed {
			most = max(most, s.Probes[i].Rate)
		}
	}
	return most
}

// RefusedProbe is a probe of a search that cannot be trusted.
type RefusedProbe struct {
	Rate float64 `json:"rate"` // calls per second, as asked for
	// Says is what was measured, in words: "p99 3.2ms, at most 3.4ms".
	Says string `json:"says"`
	Why  string `json:"why"`
	// Shown is as that of [Refused].
	Shown bool `json:"-"`
}

// RefusedSearch is what a search came to that cannot be used.
type RefusedSearch struct {
	// Found is the rate that it found, where its arm has no capacity.
	Found *Refused `json:"found,omitempty"`
	// Probes are those that the generator or the machine spoiled.
	Probes []RefusedProbe `json:"probes,omitempty"`
}

// refusedProbes are those of a search that were spoiled.
func refusedProbes(o Objective, s *CapacitySearch, all []told) []RefusedProbe {
	var found []RefusedProbe
	for i, t := range all[:min(len(all), len(s.Probes))] {
		if t.outcome == ProbeSpoiled {
			_, says := kept(o, &s.Probes[i])
			found = append(found, RefusedProbe{Rate: s.Probes[i].Rate, Says: says, Why: t.why})
		}
	}
	return found
}

// refuse takes an arm's figures out: it has no capacity, since replies were wrong or
// it was taken out.
func (a *ArmCapacity) refuse(values map[int]float64) {
	a.Closed = a.Closed.refuse(a.Why)
	a.Rate = geometric(inRoundOrder(a.Rounds, values)).refuse(a.Why)
	for i := range a.Rounds {
		r := &a.Rounds[i]
		if v, ok := r.Found.Value(); ok {
			if r.Refused == nil {
				r.Refused = &RefusedSearch{}
			}
			r.Refused.Found = &Refused{Value: v, Why: a.Why}
		}
		r.Found = Found{Kind: CapacityUnknown}
	}
}

// limitedAt gives an arm that the generator or the machine limited what its probes
// came to all the same: the highest rate that was kept, by rounds.
func (a *ArmCapacity) limitedAt(most []float64) {
	if a.Rate.Known || !a.Limited {
		return
	}
	most = slices.DeleteFunc(slices.Clone(most), func(v float64) bool { return v <= 0 })
	a.Rate = geometric(most).refuse(a.Why)
}
