package judge

import (
	"bytes"
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// maxDepth is the maximum nesting of JSON values. Deeper values are compared by their bytes.
const maxDepth = 200

// ignoredElement stands for an element of an array that is not compared. It is no JSON.
const ignoredElement = '_'

// writer writes the canonical form of a JSON document: members sorted by name, one spelling of numbers and texts,
// no spaces, ignored parts left out. It is reused for one document after another.
type writer struct {
	ignore *patterns
	text   []byte
	at     int
	out    []byte
	depth  int
	// members and scratch are for sorting. The members of open objects lie one behind another.
	members []member
	scratch []byte
}

// member is where a member of an object lies in out: its name, and behind it its value.
type member struct{ name, value, end int }

// canonical returns the one form of a text's content; false: it is no JSON. The result is the
// writer's own until its next use.
func (w *writer) canonical(text []byte) ([]byte, bool) {
	w.text, w.at, w.out, w.depth, w.members = text, 0, w.out[:0], 0, w.members[:0]
	values := 0
	for ; ; values++ {
		w.space()
		if w.at == len(w.text) {
			break
		}
		if values > 0 {
			w.out = append(w.out, '\n')
		}
		before := w.at
		if !w.value(w.ignore.all(), false) {
			return nil, false
		}
		// Two numbers or words that touch are no two values.
		if last := w.text[w.at-1]; w.at < len(w.text) && w.at > before && last != '}' && last != ']' && last != '"' &&
			!isSpace(w.text[w.at]) {
			return nil, false
		}
	}
	return w.out, values > 0
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

func (w *writer) space() {
	for w.at < len(w.text) && isSpace(w.text[w.at]) {
		w.at++
	}
}

// take reports whether c comes next, and passes it.
func (w *writer) take(c byte) bool {
	if w.at < len(w.text) && w.text[w.at] == c {
		w.at++
		return true
	}
	return false
}

// value writes the next value. open are the patterns that may match it or a part of it. silent: it is ignored, and
// the output will be discarded.
func (w *writer) value(open mask, silent bool) bool {
	if w.at == len(w.text) {
		return false
	}
	switch c := w.text[w.at]; {
	case c == '{':
		return w.object(open, silent)
	case c == '[':
		return w.array(open, silent)
	case c == '"':
		return w.quoted()
	case c == '-' || c >= '0' && c <= '9':
		return w.number()
	}
	for _, word := range words {
		if bytes.HasPrefix(w.text[w.at:], word) {
			w.at += len(word)
			w.out = append(w.out, word...)
			return true
		}
	}
	return false
}

var words = [][]byte{[]byte("true"), []byte("false"), []byte("null")} // read only

func (w *writer) array(open mask, silent bool) bool {
	if w.depth++; w.depth > maxDepth {
		return false
	}
	w.at++
	w.out = append(w.out, '[')
	w.space()
	if w.take(']') {
		w.depth--
		w.out = append(w.out, ']')
		return true
	}
	for i := 0; ; i++ {
		if i > 0 {
			w.out = append(w.out, ',')
		}
		inner, ignored := mask(0), false
		if open != 0 && !silent {
			var digits [20]byte
			inner, ignored = w.ignore.step(open, w.depth-1, strconv.AppendInt(digits[:0], int64(i), 10))
		}
		start := len(w.out)
		w.space()
		if !w.value(inner, silent || ignored) {
			return false
		}
		if ignored {
			w.out = append(w.out[:start], ignoredElement)
		}
		w.space()
		if w.take(']') {
			break
		}
		if !w.take(',') {
			return false
		}
	}
	w.depth--
	w.out = append(w.out, ']')
	return true
}

func (w *writer) object(open mask, silent bool) bool {
	if w.depth++; w.depth > maxDepth {
		return false
	}
	w.at++
	first, start := len(w.members), len(w.out)
	sorted := true
	for n := 0; ; n++ {
		w.space()
		if n == 0 && w.take('}') {
			break
		}
		m := member{name: len(w.out)}
		if w.at == len(w.text) || w.text[w.at] != '"' || !w.quoted() {
			return false
		}
		m.value = len(w.out)
		inner, ignored := mask(0), false
		if open != 0 && !silent {
			inner, ignored = w.ignore.step(open, w.depth-1, w.out[m.name+1:m.value-1])
		}
		w.space()
		if !w.take(':') {
			return false
		}
		w.space()
		if !w.value(inner, silent || ignored) {
			return false
		}
		if m.end = len(w.out); ignored || silent {
			w.out = w.out[:m.name]
		} else {
			if last := len(w.members) - 1; last >= first {
				p := w.members[last]
				sorted = sorted && bytes.Compare(w.out[p.name:p.value], w.out[m.name:m.value]) <= 0
			}
			w.members = append(w.members, m)
		}
		w.space()
		if w.take('}') {
			break
		}
		if !w.take(',') {
			return false
		}
	}
	w.depth--
	w.close(first, start, sorted)
	return true
}

// close writes the members of an object, which lie one behind another from start, in their order and with
// the signs between them.
func (w *writer) close(first, start int, sorted bool) {
	all := w.members[first:]
	if !sorted {
		// Of two members of one name both stay, in their order.
		slices.SortStableFunc(all, func(a, b member) int {
			return bytes.Compare(w.out[a.name:a.value], w.out[b.name:b.value])
		})
	}
	w.scratch = append(w.scratch[:0], '{')
	for i, m := range all {
		if i > 0 {
			w.scratch = append(w.scratch, ',')
		}
		w.scratch = append(append(append(w.scratch, w.out[m.name:m.value]...), ':'), w.out[m.value:m.end]...)
	}
	w.scratch = append(w.scratch, '}')
	w.out = append(w.out[:start], w.scratch...)
	w.members = w.members[:first]
}

// quoted writes the text that comes next in its one spelling.
func (w *writer) quoted() bool {
	w.at++
	w.out = append(w.out, '"')
	for w.at < len(w.text) {
		c := w.text[w.at]
		switch {
		case c == '"':
			w.at++
			w.out = append(w.out, '"')
			return true
		case c < ' ':
			return false
		case c != '\\':
			w.out = append(w.out, c)
			w.at++
		case !w.escape():
			return false
		}
	}
	return false
}

// escape writes the character that an escape stands for.
func (w *writer) escape() bool {
	if w.at+1 >= len(w.text) {
		return false
	}
	c := w.text[w.at+1]
	w.at += 2
	switch c {
	case '"', '\\', '/':
		w.plain(rune(c))
	case 'b':
		w.plain('\b')
	case 'f':
		w.plain('\f')
	case 'n':
		w.plain('\n')
	case 'r':
		w.plain('\r')
	case 't':
		w.plain('\t')
	case 'u':
		r, ok := w.hex()
		if !ok {
			return false
		}
		if utf16.IsSurrogate(r) {
			if bytes.HasPrefix(w.text[w.at:], []byte(`\u`)) {
				before := w.at
				w.at += 2
				low, ok := w.hex()
				if both := utf16.DecodeRune(r, low); ok && both != utf8.RuneError {
					w.plain(both)
					return true
				}
				w.at = before
			}
			// Half a character is none that UTF-8 has: it stays an escape.
			w.out = append(strconv.AppendInt(append(w.out, `\u`...), int64(r), 16), ""...)
			return true
		}
		w.plain(r)
	default:
		return false
	}
	return true
}

// hex reads four digits.
func (w *writer) hex() (rune, bool) {
	if w.at+4 > len(w.text) {
		return 0, false
	}
	r := rune(0)
	for _, c := range w.text[w.at : w.at+4] {
		switch {
		case c >= '0' && c <= '9':
			r = r<<4 | rune(c-'0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			r = r<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	w.at += 4
	return r, true
}

// plain writes a character of a text.
func (w *writer) plain(r rune) {
	switch {
	case r == '"' || r == '\\':
		w.out = append(w.out, '\\', byte(r))
	case r < ' ':
		const digits = "0123456789abcdef"
		w.out = append(append(w.out, `\u00`...), digits[r>>4], digits[r&15])
	default:
		w.out = utf8.AppendRune(w.out, r)
	}
}

// number writes the number that comes next: its digits without zeros at either end, and the power
// of ten behind them. Nothing is computed with it, so that it may have any length.
func (w *writer) number() bool {
	negative := w.take('-')
	whole := w.digits()
	if len(whole) == 0 || len(whole) > 1 && whole[0] == '0' {
		return false
	}
	var fraction []byte
	if w.take('.') {
		if fraction = w.digits(); len(fraction) == 0 {
			return false
		}
	}
	power, huge := int64(0), []byte(nil)
	if w.take('e') || w.take('E') {
		minus := w.take('-')
		if !minus {
			w.take('+')
		}
		given := w.digits()
		if len(given) == 0 {
			return false
		}
		given = bytes.TrimLeft(given, "0")
		if len(given) > 15 {
			huge = given
		}
		for _, c := range given[:min(len(given), 15)] {
			power = power*10 + int64(c-'0')
		}
		if minus {
			power = -power
		}
	}
	digits := len(w.out)
	if negative {
		w.out = append(w.out, '-')
		digits++
	}
	w.out = append(append(w.out, whole...), fraction...)
	power -= int64(len(fraction))
	trimmed := bytes.TrimRight(w.out[digits:], "0")
	power += int64(len(w.out) - digits - len(trimmed))
	lead := len(trimmed) - len(bytes.TrimLeft(trimmed, "0"))
	if lead == len(trimmed) { // zero, whatever its power and sign
		if negative {
			digits--
		}
		w.out = append(w.out[:digits], '0')
		return true
	}
	n := copy(w.out[digits:], trimmed[lead:])
	w.out = w.out[:digits+n]
	switch {
	case huge != nil: // larger than any program computes with: keep the spelling, but normalize the digits
		w.out = append(append(append(w.out, 'E'), huge...), 's')
		w.out = strconv.AppendInt(w.out, power, 10)
	case power != 0:
		w.out = strconv.AppendInt(append(w.out, 'e'), power, 10)
	}
	return true
}

func (w *writer) digits() []byte {
	start := w.at
	for w.at < len(w.text) && w.text[w.at] >= '0' && w.text[w.at] <= '9' {
		w.at++
	}
	return w.text[start:w.at]
}
