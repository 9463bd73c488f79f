package judge

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// shownMost is how many bytes of a value an error shows.
const shownMost = 60

// differ says where two bodies that are not equal differ, as what was got and what was wanted. Both are in the one
// form if formed is set, else as they came.
func differ(got, want []byte, formed bool) (string, string) {
	if !formed {
		n := 0
		for n < len(got) && n < len(want) && got[n] == want[n] {
			n++
		}
		return fmt.Sprintf("of %d bytes with %s at byte %d", len(got), shown(got[n:]), n),
			fmt.Sprintf("%d bytes with %s", len(want), shown(want[n:]))
	}
	at, g, w := descend(got, want, "")
	if at == "" {
		return shown(g), shown(w)
	}
	return shownAt(g, at), shownAt(w, at)
}

// shownAt is a value with its place; nil: there is none there.
func shownAt(value []byte, at string) string {
	if len(at) > 3*shownMost {
		at = at[:3*shownMost] + "…"
	}
	if value == nil {
		return "none at " + at
	}
	return shown(value) + " at " + at
}

// shown is a value as an error has it.
func shown(value []byte) string {
	if len(value) == 0 {
		return "nothing"
	}
	if value[0] != '"' && (value[0] == '-' || value[0] >= '0' && value[0] <= '9') {
		if text, ok := readable(value); ok {
			return text
		}
	}
	if len(value) > shownMost {
		return strings.ToValidUTF8(string(value[:shownMost]), "\uFFFD") + "…"
	}
	text := strings.ToValidUTF8(string(value), "\uFFFD")
	if strings.IndexFunc(text, func(r rune) bool { return r < ' ' }) >= 0 {
		return strconv.Quote(text)
	}
	return text
}

// readable is a number of the one form as people write it; false: it is none, or a long one.
func readable(value []byte) (string, bool) {
	text := string(value)
	digits, power, ok := strings.Cut(text, "e")
	if !ok {
		return text, len(text) <= shownMost && strings.Trim(text, "-0123456789") == ""
	}
	n, err := strconv.Atoi(power)
	if err != nil || n < -20 || n > 20 || len(digits) > 2*shownMost/3 || strings.Trim(digits, "-0123456789") != "" {
		return "", false
	}
	sign := ""
	if rest, negative := strings.CutPrefix(digits, "-"); negative {
		sign, digits = "-", rest
	}
	if n > 0 {
		return sign + digits + strings.Repeat("0", n), true
	}
	if missing := 1 - n - len(digits); missing > 0 {
		digits = strings.Repeat("0", missing) + digits
	}
	return sign + digits[:len(digits)+n] + "." + digits[len(digits)+n:], true
}

// descend goes to the first place where two values of the one form differ.
func descend(got, want []byte, at string) (string, []byte, []byte) {
	for {
		if lines, others := split(got, '\n'), split(want, '\n'); at == "" && (len(lines) > 1 || len(others) > 1) {
			i := firstOther(lines, others)
			at = "value " + strconv.Itoa(i) + " "
			got, want = element(lines, i), element(others, i)
			if got == nil || want == nil {
				return at, got, want
			}
			continue
		}
		if len(got) == 0 || len(want) == 0 || got[0] != want[0] || got[0] != '{' && got[0] != '[' {
			return at, got, want
		}
		gots, wants := split(got[1:len(got)-1], ','), split(want[1:len(want)-1], ',')
		i := firstOther(gots, wants)
		g, w := element(gots, i), element(wants, i)
		if got[0] == '[' {
			at += "/" + strconv.Itoa(i)
			if g == nil || w == nil {
				return at, g, w
			}
			got, want = g, w
			continue
		}
		gName, gValue := named(g)
		wName, wValue := named(w)
		switch c := bytes.Compare(gName, wName); {
		case w == nil || g != nil && c < 0:
			return at + "/" + token(gName), gValue, nil
		case g == nil || c > 0:
			return at + "/" + token(wName), nil, wValue
		}
		at += "/" + token(gName)
		got, want = gValue, wValue
	}
}

func element(all [][]byte, i int) []byte {
	if i < len(all) {
		return all[i]
	}
	return nil
}

// firstOther is the index of the first element that differs.
func firstOther(a, b [][]byte) int {
	i := 0
	for i < len(a) && i < len(b) && bytes.Equal(a[i], b[i]) {
		i++
	}
	return i
}

// split splits text at sign, except inside nested values.
func split(text []byte, sign byte) [][]byte {
	var all [][]byte
	start, depth, within := 0, 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case within && c == '\\':
			i++
		case c == '"':
			within = !within
		case within:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			depth--
		case c == sign && depth == 0:
			all, start = append(all, text[start:i]), i+1
		}
	}
	if start < len(text) {
		all = append(all, text[start:])
	}
	return all
}

// named takes a member apart; its name is without the quotes.
func named(m []byte) (name, value []byte) {
	for i := 1; i < len(m); i++ {
		switch m[i] {
		case '\\':
			i++
		case '"':
			return m[1:i], m[i+2:]
		}
	}
	return nil, nil
}

// token is a name as a part of a JSON pointer.
func token(name []byte) string {
	return strings.ReplaceAll(strings.ReplaceAll(strings.ToValidUTF8(string(name), "\uFFFD"), "~", "~0"), "/", "~1")
}
