package plan

import (
	"strings"
	"unicode"
)

// unseen reports whether a character changes how others are shown and is not seen itself: control characters, and
// those that hide, or that turn the direction of what follows. The joiners that some scripts need are none.
func unseen(r rune) bool {
	switch r {
	case '\u200c', '\u200d':
		return false
	case '\u2028', '\u2029': // they end lines
		return true
	}
	return unicode.IsControl(r) || unicode.Is(unicode.Cf, r)
}

// blank are characters that count as letters or symbols and look like nothing.
const blank = "\u115f\u1160\u3164\uffa0\u2800"

// Shows reports whether a character can be seen by itself.
func Shows(r rune) bool {
	return unicode.In(r, unicode.L, unicode.N, unicode.P, unicode.S) && !strings.ContainsRune(blank, r)
}

// Harmless returns a text that may come from anybody in a form that can be shown: what a terminal would obey, or
// what would change how the text beside it is shown, is replaced by a character that can be seen. Ends of lines and
// tabs stay where lines says so.
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
