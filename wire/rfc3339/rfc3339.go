// Package rfc3339 writes a time as text, and reads it, for every wire whose encoding has no times, so that all
// read and refuse the same ones. It knows no message and no workload.
package rfc3339

import (
	"strings"
	"time"

	"wirelab/wire/status"
)

// form is RFC 3339 in UTC, with as many decimals as a time needs, up to the microsecond: finer times the
// workloads' contracts refuse.
const form = "2006-01-02T15:04:05.999999Z07:00"

// Text writes a time as of RFC 3339 in UTC; that which stands for none is "".
func Text(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(form)
}

// Parse reads a time; "" is that which stands for none. What else is no
// time is InvalidArgument, never taken for none (grb-D08).
func Parse(text string) (t time.Time, err error) {
	if text == "" {
		return t, nil
	}
	if shaped(text) {
		if t, err = time.Parse(time.RFC3339, text); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, status.Errorf(status.InvalidArgument,
		"%.40q is not a time as of RFC 3339, such as 2024-01-31T12:00:00.000001Z", text)
}

// shaped reports whether each sign stands where RFC 3339 has it. Package
// time also admits an hour of one digit, a comma, and a zone of 99 hours.
func shaped(text string) bool {
	const shape, zone = "0000-00-00T00:00:00", "+00:00"
	like := func(text, shape string) bool {
		for i := range len(shape) {
			if digit := '0' <= text[i] && text[i] <= '9'; digit != (shape[i] == '0') || !digit && text[i] != shape[i] {
				return false
			}
		}
		return true
	}
	if len(text) <= len(shape) || !like(text, shape) {
		return false
	}
	rest := text[len(shape):]
	if rest[0] == '.' {
		decimals := strings.TrimLeft(rest[1:], "0123456789")
		if len(decimals) == len(rest)-1 {
			return false
		}
		rest = decimals
	}
	if rest == "Z" {
		return true
	}
	return len(rest) == len(zone) && like("+"+rest[1:], zone) && (rest[0] == '+' || rest[0] == '-') &&
		rest[1:3] < "24" && rest[4:] < "60"
}
