package plan

import (
	"strings"
	"unicode"
)

// unseen reports whether a character is invisible and changes how others are shown: control characters, format
// characters and those that change the direction of the text. The joiners that some scripts need are allowed.
func unseen(r rune) bool {
	switch r {
	case '\u200c', '\u200d':
		return false
	case '\u2028', '\u2029': // they end lines
		return true
	}
	return unicode.IsControl(r) || unicode.Is(unicode.Cf, r)
}

// blank has characters that Unicode counts as letters or symbols, but that look empty.
const blank = "\u115f\u1160\u3164\uffa0\u2800"

// Shows reports whether a character is visible by itself.
func Shows(r rune) bool {
	return unicode.In(r, unicode.L, unicode.N, unicode.P, unicode.S) && !strings.ContainsRune(blank, r)
}

// Harmless returns a text from an untrusted source in a form that is safe to show. Control sequences for terminals,
// and characters that change how the text around them is shown, are replaced by visible characters. Line ends and
// tabs are kept if lines is true.
func Harmless(text string, lines bool) string {
	return strings.Map(func(r rune) rune {
		switch {
		case lines && (r == '\n' || r == '\t'):
			return r
		case r < ' ':
			return '\u2400' + r // ␛ for an escape
		case r == 0x7f:
			return '\u2421'
		case unseen(r):
			return unicode.ReplacementChar
		}
		return r
	}, text)
}
