package claim

import (
	"reflect"
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

// Refuse is an estimate whose value may not be used: only the value stays, and apart.
func (e Estimate) Refuse(why string) Estimate {
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

// Move takes a value out of its plain field, into the refusals, if there is a reason.
func (r *Refusals) Move(field string, plain *float64, why string) {
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
