package curl

import "strings"

// isCmd reports whether a text is written for the command line of Windows, where ^ is what \ is elsewhere.
func isCmd(text string) bool {
	for _, mark := range []string{`^"`, "^\n", "^\r\n"} {
		if strings.Contains(text, mark) {
			return true
		}
	}
	return false
}

// cmdCommands splits a text as cmd does, and each command as a program of Windows splits its line. Each command's
// words have the line on which the command begins.
func cmdCommands(text string) []command {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	var out []command
	var now strings.Builder
	line, begun, quoted := 1, 1, false
	end := func() {
		if words := argv(now.String(), begun); len(words) > 0 {
			out = append(out, command{words: words})
		}
		now.Reset()
		quoted = false
	}
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\n':
			end()
			line++
			begun = line
		case c == '"':
			quoted = !quoted
			now.WriteByte(c)
		case c == '^' && !quoted && i+1 < len(text):
			i++
			if text[i] != '\n' {
				now.WriteByte(text[i])
				continue
			}
			// The line continues. A second end of line is part of the text.
			line++
			if i+1 < len(text) && text[i+1] == '\n' {
				i++
				line++
				now.WriteByte('\n')
			}
		case c == '&' && !quoted:
			end()
			begun = line
		default:
			now.WriteByte(c)
		}
	}
	end()
	return out
}

// argv splits a command line as programs of Windows do.
func argv(text string, line int) []word {
	var out []word
	var now strings.Builder
	in, quoted := false, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\':
			n := 1
			for i+n < len(text) && text[i+n] == '\\' {
				n++
			}
			in = true
			if i+n == len(text) || text[i+n] != '"' {
				now.WriteString(text[i : i+n])
				i += n - 1
				continue
			}
			// Backslashes before a quote are half as many, and an odd one makes the quote text.
			now.WriteString(text[i : i+n/2])
			i += n - 1
			if n%2 == 1 {
				now.WriteByte('"')
				i++
			}
		case c == '"':
			in = true
			if quoted && i+1 < len(text) && text[i+1] == '"' {
				now.WriteByte('"')
				i++
				continue
			}
			quoted = !quoted
		case !quoted && (c == ' ' || c == '\t' || c == '\n'):
			if in {
				out = append(out, word{now.String(), line})
				now.Reset()
				in = false
			}
		default:
			in = true
			now.WriteByte(c)
		}
	}
	if in {
		out = append(out, word{now.String(), line})
	}
	return out
}
