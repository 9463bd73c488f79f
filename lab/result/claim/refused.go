package claim

import (
	"reflect"
)

// Refused is a value that was measured but refused by a check. The plain field of the figure is then empty. No claim,
// verdict, rank or export uses the value, and a report that shows it marks it and gives the reason.
type Refused struct {
	Value float64 `json:"value"` // in the unit of the plain field
	Why   string  `json:"why"`
	// Shown reports that a report should print it, marked. See [Analysis.WithRefused].
	Shown bool `json:"-"`
}

// Refusals are the refused values of several plain fields, by the field's name in JSON.
type Refusals map[string]*Refused

// Shown returns a refused value that a report should print, or nil.
func (r Refusals) Shown(field string) *Refused {
	if one := r[field]; one != nil && one.Shown {
		return one
	}
	return nil
}

// Refuse returns an estimate whose value must not be used: the value is moved to Refused.
func (e Estimate) Refuse(why string) Estimate {
	if !e.Known {
		return Estimate{Why: why}
	}
	return Estimate{Why: why, Refused: &Refused{Value: e.Value, Why: why}}
}

// ShownRefused returns the refused value that a report should print, or nil.
func (e Estimate) ShownRefused() *Refused {
	if e.Refused != nil && e.Refused.Shown {
		return e.Refused
	}
	return nil
}

// WithRefused returns a copy of the analysis in which every refused value is marked to be printed. Nothing else
// differs.
func (a *Analysis) WithRefused() *Analysis {
	shown, _ := shownCopy(reflect.ValueOf(a)).Interface().(*Analysis) // it is a copy of a
	return shown
}

// shownCopy copies a value and everything that it points to, so that the original analysis does not change. In the
// copy each refused value is shown.
func shownCopy(v reflect.Value) reflect.Value {
	out := reflect.New(v.Type()).Elem()
	out.Set(v) // unexported fields too; they are never changed
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

// Move moves a value from its plain field to the refusals, if there is a reason.
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

// RefusedProbe is a probe of a search that is not trustworthy.
type RefusedProbe struct {
	Rate float64 `json:"rate"` // calls per second, as offered
	// Says describes the measurement: "p99 3.2ms, at most 3.4ms".
	Says string `json:"says"`
	Why  string `json:"why"`
	// Shown is as in [Refused].
	Shown bool `json:"-"`
}

// RefusedSearch has the results of a search that cannot be used.
type RefusedSearch struct {
	// Found is the rate that was found, if the arm nevertheless has no capacity.
	Found *Refused `json:"found,omitempty"`
	// Probes are those that the generator or the machine disturbed.
	Probes []RefusedProbe `json:"probes,omitempty"`
}
