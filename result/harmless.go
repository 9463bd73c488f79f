package result

import (
	"reflect"

	"wirelab/plan"
)

// Harmless makes every text of a result one that can be shown, by [plan.Harmless]: names come from whoever wrote the
// plan, and the reasons of failures from servers.
func (r *Result) Harmless() { harmless(reflect.ValueOf(r).Elem(), false) }

// hasLines reports whether a field may hold a text of several lines: a description, or errors that were joined.
func hasLines(field string) bool { return field == "About" || field == "Why" || field == "Out" }

// harmless changes the texts in a value that can be set.
func harmless(v reflect.Value, lines bool) {
	switch v.Kind() {
	case reflect.String:
		if text := v.String(); v.CanSet() {
			if safe := plan.Harmless(text, lines); safe != text {
				v.SetString(safe)
			}
		}
	case reflect.Pointer:
		if !v.IsNil() {
			harmless(v.Elem(), lines)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if field := v.Type().Field(i); field.IsExported() {
				harmless(v.Field(i), hasLines(field.Name))
			}
		}
	case reflect.Slice:
		switch v.Type().Elem().Kind() {
		case reflect.String, reflect.Pointer, reflect.Struct, reflect.Slice, reflect.Map:
			for i := range v.Len() {
				harmless(v.Index(i), lines)
			}
		}
	case reflect.Map:
		harmlessMap(v)
	}
}

// harmlessMap is harmless for a map with texts, whose values cannot be set in place.
func harmlessMap(v reflect.Value) {
	for _, key := range v.MapKeys() {
		value := reflect.New(v.Type().Elem()).Elem()
		value.Set(v.MapIndex(key))
		harmless(value, false)
		name := key
		if key.Kind() == reflect.String {
			name = reflect.New(key.Type()).Elem()
			name.SetString(plan.Harmless(key.String(), false))
		}
		if name.Interface() != key.Interface() {
			v.SetMapIndex(key, reflect.Value{})
		}
		v.SetMapIndex(name, value)
	}
}
