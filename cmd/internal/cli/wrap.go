package cli

import (
	"strings"

	"wirelab/internal/paragraph"
)

// Columns is the width of texts if that of the terminal is not known.
const Columns = 80

// Refold breaks lines of a text that are too long: a paragraph as a whole, and an indented line, such as an item of a
// list, with its continuation below the start of its text.
func Refold(text string, columns int) string {
	var out strings.Builder
	var block []string
	flush := func() {
		if !fits(block, columns) {
			block = paragraph.Wrap(strings.Join(block, " "), columns)
		}
		for _, line := range block {
			out.WriteString(line + "\n")
		}
		block = nil
	}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \n")
		if line != "" && line[0] != ' ' {
			block = append(block, line)
			continue
		}
		flush()
		if width(line) <= columns {
			out.WriteString(line + "\n")
			continue
		}
		label, rest := listed(line)
		out.WriteString(paragraph.Hang(label, width(label), rest, columns))
	}
	flush()
	return strings.TrimRight(out.String(), "\n") + "\n"
}

// listed splits an indented line into its label, " name ", and its text.
func listed(line string) (label, text string) {
	words := strings.TrimLeft(line, " ")
	at := len(line) - len(words)
	if gap := strings.Index(words, "  "); gap > 0 {
		text = strings.TrimLeft(words[gap:], " ")
		return line[:len(line)-len(text)], text
	}
	return line[:at], words
}

func fits(lines []string, columns int) bool {
	for _, line := range lines {
		if width(line) > columns {
			return false
		}
	}
	return true
}

func width(text string) int { return paragraph.Width(text) }
