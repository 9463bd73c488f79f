package audit

import (
	"slices"
	"strings"

	"wirelab"
)

// Placeholders maps the words that a tool's command may have in braces to their values.
type Placeholders map[string]string

// Fill replaces the placeholders in a shell command by their values. How it quotes a value depends on where the
// placeholder is: outside quotes it adds single quotes, within single quotes it adds none, and within double quotes it
// escapes the value. So both -d {body} and -d '{body}' are right. Braces around anything but one lower-case word stay
// unchanged. For an unknown word the error lists the known ones.
func (p Placeholders) Fill(command string) (string, error) {
	var b strings.Builder
	var quote byte
	for i := 0; i < len(command); i++ {
		c := command[i]
		switch {
		case c == '\\' && quote != '\'' && i+1 < len(command):
			b.WriteString(command[i : i+2])
			i++
			continue
		case c == quote:
			quote = 0
		case (c == '\'' || c == '"') && quote == 0:
			quote = c
		case c == '{' && (i == 0 || command[i-1] != '$'):
			word, ok := braced(command[i:])
			if !ok {
				break
			}
			value, known := p[word]
			if !known {
				return "", wirelab.UnknownName("placeholder", "{"+word+"}", p.names())
			}
			b.WriteString(quoted(value, quote))
			i += len(word) + 1
			continue
		}
		b.WriteByte(c)
	}
	return b.String(), nil
}

// Uses reports whether a command has one of the named placeholders.
func Uses(command string, names ...string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return strings.Contains(command, "{"+n+"}") })
}

func (p Placeholders) names() []string {
	var names []string
	for n := range p {
		names = append(names, "{"+n+"}")
	}
	slices.Sort(names)
	return names
}

// braced returns the lower-case word in the braces at the start of a text.
func braced(text string) (string, bool) {
	end := strings.IndexByte(text, '}')
	if end < 2 {
		return "", false
	}
	word := text[1:end]
	return word, !strings.ContainsFunc(word, func(r rune) bool { return r < 'a' || r > 'z' })
}

// quoted escapes a value for its position in a command: within quotes, or outside them (quote is 0).
func quoted(value string, quote byte) string {
	switch quote {
	case '\'':
		return strings.ReplaceAll(value, `'`, `'\''`)
	case '"':
		return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`, "`", "\\`").Replace(value)
	}
	return `'` + strings.ReplaceAll(value, `'`, `'\''`) + `'`
}

// Words splits a command line like a shell, without expanding anything: enough to find a tool's name and options in it.
// An operator that joins commands is a separate word.
func Words(command string) []string {
	var words []string
	var word strings.Builder
	var quote byte
	begun := false
	end := func() {
		if begun {
			words = append(words, word.String())
		}
		word.Reset()
		begun = false
	}
	for i := 0; i < len(command); i++ {
		c := command[i]
		switch {
		case c == '\\' && quote != '\'' && i+1 < len(command):
			i++
			word.WriteByte(command[i])
			begun = true
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			word.WriteByte(c)
		case c == '\'' || c == '"':
			quote, begun = c, true
		case strings.IndexByte(" \t\n", c) >= 0:
			end()
		case strings.IndexByte("|;&<>()", c) >= 0:
			end()
			words = append(words, string(c))
		default:
			word.WriteByte(c)
			begun = true
		}
	}
	end()
	return words
}
