package judge

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// varyMost is the maximum number of differences between two replies that are reported.
const varyMost = 20

// Vary tells where two replies to one request differ, as JSON pointers for [Rule.Ignore]: elements of arrays are *.
// false: they differ as a whole, or in too many places, and no pointers help.
func Vary(a, b []byte) (pointers []string, ok bool) {
	if bytes.Equal(a, b) {
		return nil, true
	}
	one, err := valueOf(a)
	if err != nil {
		return nil, false
	}
	other, err := valueOf(b)
	if err != nil {
		return nil, false
	}
	found := map[string]bool{}
	vary(one, other, "", found)
	if found[""] || len(found) > varyMost {
		return nil, false
	}
	return slices.Sorted(maps.Keys(found)), true
}

// valueOf is the JSON in a body, with numbers as they are written.
func valueOf(body []byte) (value any, err error) {
	from := json.NewDecoder(bytes.NewReader(body))
	from.UseNumber()
	err = from.Decode(&value)
	return value, err
}

// vary adds the places in which two values differ. It goes as deep as the shallower of the two, which the decoder
// bounds.
func vary(a, b any, at string, found map[string]bool) {
	switch one := a.(type) {
	case map[string]any:
		other, same := b.(map[string]any)
		if !same {
			break
		}
		for name := range one {
			vary(one[name], other[name], at+"/"+token([]byte(name)), found)
		}
		for name := range other {
			if _, there := one[name]; !there {
				found[at+"/"+token([]byte(name))] = true
			}
		}
		return
	case []any:
		other, same := b.([]any)
		if !same || len(one) != len(other) {
			break
		}
		for i := range one {
			vary(one[i], other[i], at+"/*", found)
		}
		return
	default:
		if a == b {
			return
		}
	}
	found[strings.TrimSuffix(at, "/*")] = true
}
