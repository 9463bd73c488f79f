// Package jsontext finds halves of characters in JSON texts: an escaped UTF-16
// surrogate without its other half, for which encoding/json puts U+FFFD, so that
// another text is taken than was sent. Protobuf's JSON refuses it, and so do the
// wires that ask here. It knows nothing else of JSON.
package jsontext

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// Half reports whether a JSON text, known to be one, escapes a UTF-16
// surrogate without the other: encoding/json puts U+FFFD in its place.
func Half(text []byte) bool {
	for {
		i := bytes.IndexByte(text, '\\')
		if i < 0 {
			return false
		}
		text = text[i:]
		unit := escaped(text)
		if !utf16.IsSurrogate(unit) {
			text = text[2:] // what follows \u are digits, which begin no escape
			continue
		}
		if utf16.DecodeRune(unit, escaped(text[6:])) == utf8.RuneError {
			return true
		}
		text = text[12:]
	}
}

// escaped is the unit that a text begins with if it begins with \u, else 0.
func escaped(text []byte) rune {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return 0
	}
	var unit rune
	for _, c := range text[2:6] {
		unit <<= 4
		switch {
		case '0' <= c && c <= '9':
			unit |= rune(c - '0')
		case 'a' <= c && c <= 'f':
			unit |= rune(c-'a') + 10
		case 'A' <= c && c <= 'F':
			unit |= rune(c-'A') + 10
		default:
			return 0
		}
	}
	return unit
}
