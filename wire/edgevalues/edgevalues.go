// Package edgevalues is the values that break services: the ones a wire, a codec or
// a column carries wrongly while everything drawn at random passes. Every
// value has a name, and a reason a reader can judge.
//
// It knows values only: no workload, no wire and no test. A workload picks
// those its contract admits; where one wire cannot carry a value, the contract
// is narrowed for all wires (house: conformance), never for one.
package edgevalues

import (
	"math"
	"strings"
	"time"
)

// Value is one edge value.
type Value[T any] struct {
	Name  string // for a test's name: lower case, no space
	Value T
	Why   string // what goes wrong with it, in words
}

// Ints returns whole numbers. Those beyond 32 bits are for fields of 64.
func Ints() []Value[int64] {
	return []Value[int64]{
		{"zero", 0, "is the absent value of proto3 and of omitempty"},
		{"one", 1, "is the smallest that is not the absent value"},
		{"minus-one", -1, "is ten bytes as a plain varint, and often means none"},
		{"int8-over", 1 << 7, "does not fit a signed byte"},
		{"uint8-over", 1 << 8, "does not fit a byte"},
		{"int16-over", 1 << 15, "does not fit a signed 16 bit field"},
		{"uint16-over", 1 << 16, "does not fit a 16 bit field"},
		{"int32-max", math.MaxInt32, "is the last a signed 32 bit field holds; GraphQL's Int ends here"},
		{"int32-min", math.MinInt32, "has no positive counterpart in 32 bits"},
		{"int32-over", 1 << 31, "turns negative when narrowed to 32 bits"},
		{"int32-under", math.MinInt32 - 1, "turns positive when narrowed to 32 bits"},
		{"uint32-over", 1 << 32, "turns zero when narrowed to 32 bits"},
		{"double-over", 1<<53 + 1, "is rounded by a JSON reader that keeps numbers as doubles"},
		{"double-under", -(1<<53 + 1), "is rounded by a JSON reader that keeps numbers as doubles"},
		{"int64-max", math.MaxInt64, "is the last a signed 64 bit field holds"},
		{"int64-min", math.MinInt64, "has no positive counterpart in 64 bits"},
	}
}

// Int32s returns those of [Ints] that fit 32 bits.
func Int32s() []Value[int32] {
	var fit []Value[int32]
	for _, v := range Ints() {
		if v.Value >= math.MinInt32 && v.Value <= math.MaxInt32 {
			fit = append(fit, Value[int32]{v.Name, int32(v.Value), v.Why})
		}
	}
	return fit
}

// Texts returns strings of valid UTF-8.
func Texts() []Value[string] {
	return []Value[string]{
		{"empty", "", "is the absent value of proto3 and of omitempty"},
		{"space", " ", "is trimmed by forms, headers and CSV readers"},
		{"edges", " a\t", "loses its ends where text is trimmed"},
		{"form", "a+b & c=d", "changes when a query is escaped once too often or too seldom"},
		{"percent", "%", "is half of an escape, and a verb of printf"},
		{"escaped", "%41%00", "is another text once it is unescaped"},
		{"quote", `"\'` + "`", "ends a string in JSON, SQL, GraphQL or a shell"},
		{"markup", "<a>&amp;</a>", "is escaped by encoding/json and read by a browser"},
		{"path", "../../a//b/.", "is cleaned where text becomes a path"},
		{"separators", ",;|\t", "splits a field where text is joined"},
		{"lines", "a\r\nb\n\nc: d", "ends a header, an SSE event or a line of JSON"},
		{"event", "data: x\nid: 1\n\n", "is a separate event in a text/event-stream"},
		{"nul", "a\x00b", "ends a C string, and PostgreSQL's text refuses it"},
		{"control", "\x01\x1b[31m\x7f", "must be escaped in JSON, and colours a terminal"},
		{"latin", "Élan Grüne Løken", "is two bytes a letter, and mojibake where Latin-1 is assumed"},
		{"combining", "e\u0301", "looks like one letter and equals another text when normalised"},
		{"bmp-over", "\U0001F9ED\U0001D11E", "is two units of UTF-16 and four bytes"},
		{"line-separator", "\u2028\u2029", "ends a line in JavaScript, and encoding/json escapes it"},
		{"bom", "\ufefftext", "starts with a mark that readers swallow"},
		{"replacement", "\ufffd", "is what a decoder leaves for a fault, here meant"},
		{"last-rune", "\U0010FFFF", "is the last code point"},
		{"null-word", "null", "is a value of JSON and GraphQL, here a text"},
		{"number-word", "1e3", "is a number to a reader that guesses types"},
		{"json", `{"error":{"code":"internal"}}`, "looks like the envelope it travels in"},
		{"64-KiB", strings.Repeat("x", 64<<10), "is longer than a frame, a window or a scanner's buffer"},
	}
}

// TextsUpTo returns those of [Texts] of at most limit bytes, and one of exactly limit.
func TextsUpTo(limit int) []Value[string] {
	var fit []Value[string]
	for _, v := range Texts() {
		if len(v.Value) <= limit {
			fit = append(fit, v)
		}
	}
	return append(fit, Value[string]{"at-limit", strings.Repeat("y", limit), "is the longest the contract admits"})
}

// BrokenTexts returns strings that are not UTF-8.
func BrokenTexts() []Value[string] {
	return []Value[string]{
		{"lone-byte", "a\xffb", "is refused by protobuf, replaced by JSON and passed on by gob"},
		{"cut-rune", "\xc3", "ends inside a letter, as text cut by bytes does"},
		{"overlong", "\xc0\x80", "is NUL in two bytes, as Java writes it"},
		{"surrogate", "\xed\xa0\x80", "is half of a pair of UTF-16"},
	}
}

// Times returns moments, all in UTC.
func Times() []Value[time.Time] {
	return []Value[time.Time]{
		{"zero", time.Time{}, "is year 1, where a column or a 64 bit count of nanoseconds may not reach"},
		{"epoch", time.Unix(0, 0).UTC(), "is the absent value where moments travel as numbers"},
		{"before-epoch", time.Unix(-1, 999_999_999).UTC(), "is rounded the other way where seconds are cut off"},
		{"nanosecond", time.Unix(1_700_000_000, 1).UTC(), "is lost where a moment is kept in micro- or milliseconds"},
		{"leap-day", time.Date(2024, 2, 29, 23, 59, 59, 999_999_999, time.UTC), "is not in every year"},
		{"int32-seconds-over", time.Unix(1<<31, 0).UTC(), "does not fit seconds of 32 bits (2038)"},
		{"nanoseconds-over", time.Date(2300, 1, 1, 0, 0, 0, 0, time.UTC), "does not fit nanoseconds of 64 bits (2262)"},
		{
			"last-year", time.Date(9999, 12, 31, 23, 59, 59, 999_999_999, time.UTC),
			"is the last that RFC 3339 can write",
		},
	}
}
