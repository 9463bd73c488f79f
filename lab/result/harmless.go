package result

import (
	"reflect"

	"wirelab"
	"wirelab/lab/plan"
)

// Harmless makes every text of a result safe to show, by [plan.Harmless]. Names come from the author of the plan, and
// the reasons of failures from servers.
func (r *Result) Harmless() { texts(reflect.ValueOf(r).Elem(), false, plan.Harmless) }

// Hide removes secret values from every text of a result.
func (r *Result) Hide(secrets []string) {
	if len(secrets) == 0 {
		return
	}
	texts(reflect.ValueOf(r).Elem(), false, func(text string, _ bool) string { return wirelab.Hide(text, secrets) })
}

// hasLines reports whether a field may hold a text of several lines: a description, or joined errors.
func hasLines(field string) bool {
	return field == "About" || field == "Why" || field == "Out" || field == "Text"
}

// texts changes the texts in a value that can be set. lines reports whether a text may have several lines.
func texts(v reflect.Value, lines bool, change func(text string, lines bool) string) {
	switch v.Kind() {
	case reflect.String:
		if text := v.String(); v.CanSet() {
			if safe := change(text, lines); safe != text {
				v.SetString(safe)
			}
		}
	case reflect.Pointer:
		if !v.IsNil() {
			texts(v.Elem(), lines, change)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if field := v.Type().Field(i); field.IsExported() {
				texts(v.Field(i), hasLines(field.Name), change)
			}
		}
	case reflect.Slice:
		switch v.Type().Elem().Kind() {
		case reflect.String, reflect.Pointer, reflect.Struct, reflect.Slice, reflect.Map:
			for i := range v.Len() {
				texts(v.Index(i), lines, change)
			}
		}
	case reflect.Map:
		textsOfMap(v, change)
	}
}

// textsOfMap is texts for a map, whose values cannot be set in place.
func textsOfMap(v reflect.Value, change func(text string, lines bool) string) {
	for _, key := range v.MapKeys() {
		value := reflect.New(v.Type().Elem()).Elem()
		value.Set(v.MapIndex(key))
		texts(value, false, change)
		name := key
		if key.Kind() == reflect.String {
			name = reflect.New(key.Type()).Elem()
			name.SetString(change(key.String(), false))
		}
		if name.Interface() != key.Interface() {
			v.SetMapIndex(key, reflect.Value{})
		}
		v.SetMapIndex(name, value)
	}
}
