package verify

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// tree reads JSON with its numbers as text.
func tree(data []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var value any
	err := decoder.Decode(&value)
	return value, err
}

// absent stands for a missing member, as opposed to null.
type absent struct{}

// walk reports every place at which two trees differ, as deep in them as possible.
func walk(path string, stored, computed any, tell func(Difference)) {
	if _, none := computed.(absent); none && zero(stored) {
		return
	}
	switch s := stored.(type) {
	case map[string]any:
		c, ok := computed.(map[string]any)
		if !ok {
			break
		}
		c = asBefore(s, c)
		keys := maps.Clone(s)
		maps.Copy(keys, c)
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			walk(path+"."+key, member(s, key), member(c, key), tell)
		}
		return
	case []any:
		c, ok := computed.([]any)
		if !ok {
			break
		}
		if path == "printed.terminal" && sameLines(s, c) {
			return
		}
		for i := range max(len(s), len(c)) {
			walk(fmt.Sprintf("%s[%d]", path, i), element(s, i), element(c, i), tell)
		}
		return
	case json.Number:
		if c, ok := computed.(json.Number); ok && alike(s, c) {
			return
		}
	case string:
		if c, ok := computed.(string); ok && (s == c || Reworded(s) == c) {
			return
		}
	default:
		if stored == computed {
			return
		}
	}
	s, c := text(stored), text(computed)
	skip := 0
	if _, ok := stored.(string); ok {
		skip = sameBytes(s, c)
	}
	tell(Difference{Path: path, Stored: cut(s, skip), Computed: cut(c, skip)})
}

// refused is the name of the member that has values which a check refused.
const refused = "refused"

// asBefore converts a computed object to the form of earlier documents, in which refused values were in plain
// members. It removes the member of refused values, and puts them into those plain members. A stored document with
// that member is compared with the computed object itself.
func asBefore(stored, computed map[string]any) map[string]any {
	apart, has := computed[refused].(map[string]any)
	if _, new := stored[refused]; new || !has {
		return computed
	}
	was := maps.Clone(computed)
	delete(was, refused)
	for key, one := range apart {
		value, isMap := one.(map[string]any)
		plain, there := stored[key]
		if !isMap || !there {
			continue
		}
		if _, set := was[key]; !set || zero(was[key]) || fmt.Sprint(was[key]) == "0s" {
			was[key] = likeBefore(plain, value["value"])
		}
	}
	return was
}

// likeBefore converts a refused value to the form of the plain member that had it: times in ns were text.
func likeBefore(plain, value any) any {
	text, isText := plain.(string)
	number, isNumber := value.(json.Number)
	if !isText || !isNumber {
		return value
	}
	if d, err := time.ParseDuration(text); err == nil && alike(number, json.Number(strconv.FormatInt(int64(d), 10))) {
		return text
	}
	return value
}

// zero reports whether a member is the number 0, which means the same as a missing one.
func zero(value any) bool {
	n, ok := value.(json.Number)
	f, err := n.Float64()
	return ok && err == nil && f == 0
}

// context is how much text is shown before the place where two texts begin to differ.
const context = 30

// sameBytes returns how many bytes of two texts need not be shown because they are equal up to shortly before the
// difference.
func sameBytes(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	if n <= context || max(len(a), len(b)) <= longest {
		return 0
	}
	return n - context
}

// cut returns a piece of a text.
func cut(text string, from int) string {
	if from > 0 && from < len(text) {
		text = "…" + strings.ToValidUTF8(text[from:], "")
	}
	if len(text) > longest {
		text = strings.ToValidUTF8(text[:longest], "") + "…"
	}
	return text
}

func member(of map[string]any, key string) any {
	if v, ok := of[key]; ok {
		return v
	}
	return absent{}
}

func element(of []any, i int) any {
	if i < len(of) {
		return of[i]
	}
	return absent{}
}

// rounding is the greatest difference of two computations of one figure, as a share. Processors differ in the last
// digits, since some fuse multiplication and addition.
const rounding = 1e-9

func alike(a, b json.Number) bool {
	if a == b {
		return true
	}
	x, errX := a.Float64()
	y, errY := b.Float64()
	return errX == nil && errY == nil && math.Abs(x-y) <= rounding*max(math.Abs(x), math.Abs(y))
}

// longest is the greatest length of a shown value, in bytes.
const longest = 200

// text writes a value as JSON; "" for an absent one.
func text(value any) string {
	if _, none := value.(absent); none {
		return ""
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return err.Error()
	}
	return strings.TrimSpace(out.String())
}
