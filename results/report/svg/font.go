package svg

import (
	"strings"

	"wirelab/internal/paragraph"
)

// advances are the widths of the characters from space to tilde, in thousandths of the font's size. They are those of
// the widest sans-serif font that browsers commonly fall back on (DejaVu Sans). Other fonts are narrower, so words
// that do not touch with this one touch with none.
var advances = [...]uint16{
	318, 401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361, 318, 337,
	636, 636, 636, 636, 636, 636, 636, 636, 636, 636, 337, 337, 838, 838, 838, 531,
	1000, 684, 686, 698, 770, 632, 575, 775, 752, 295, 295, 656, 557, 863, 748, 787,
	603, 787, 695, 635, 611, 732, 684, 989, 685, 611, 685, 390, 337, 390, 838, 500,
	500, 613, 635, 550, 635, 615, 352, 635, 634, 278, 278, 579, 278, 974, 634, 612,
	635, 635, 411, 521, 392, 634, 592, 818, 592, 592, 525, 636, 337, 636, 838,
}

// The widths of characters outside of the table. Latin letters and signs are at most as wide as other; ideographs and
// emoji take a square and a little more.
const (
	other  = 860
	square = 1040
	bolder = 1.2 // greatest ratio of bold to regular, for whole words
)

// Width returns the greatest width of a line of text, in pixels, at a font size in pixels.
func Width(text string, size float64) float64 {
	sum := 0
	for _, c := range text {
		switch {
		case c >= ' ' && c <= '~':
			sum += int(advances[c-' '])
		case c == '\u00a0' || c == '\u202f':
			sum += int(advances[0])
		case c < 0x1100 || c >= 0x2010 && c < 0x2070:
			sum += other
		default:
			sum += square
		}
	}
	return float64(sum) * size / 1000
}

// BoldWidth is [Width] for bold text.
func BoldWidth(text string, size float64) float64 { return bolder * Width(text, size) }

// WrapBold is [Wrap] for bold text.
func WrapBold(text string, size, room float64, lines int) []string {
	return Wrap(text, size, room/bolder, lines)
}

// FitBold is [Fit] for bold text.
func FitBold(text string, size, room float64) string { return Fit(text, size, room/bolder) }

// Fit shortens a text with an ellipsis so that it is no wider than room.
func Fit(text string, size, room float64) string {
	if Width(text, size) <= room {
		return text
	}
	letters := []rune(text)
	for n := len(letters) - 1; n > 0; n-- {
		short := strings.TrimRight(string(letters[:n]), " ,;:.") + "…"
		if Width(short, size) <= room {
			return short
		}
	}
	return "…"
}

// Wrap breaks a text into at most the given number of lines, none wider than room. It breaks at spaces, or in a word
// that is too long after a comma, slash or hyphen. It shortens the last line if necessary.
func Wrap(text string, size, room float64, lines int) []string {
	var all []string
	line := ""
	for _, piece := range pieces(text, size, room) {
		joined := line + piece
		if line == "" || Width(strings.TrimRight(joined, " "), size) <= room {
			line = joined
			continue
		}
		all = append(all, strings.TrimRight(line, " "))
		line = piece
	}
	if line = strings.TrimRight(line, " "); line != "" || len(all) == 0 {
		all = append(all, line)
	}
	if len(all) > lines {
		all[lines-1] = strings.Join(all[lines-1:], " ")
		all = all[:lines]
	}
	for i := range all {
		all[i] = Fit(all[i], size, room)
	}
	return all
}

// pieces returns the words, and the numbers with their units, each with the following space. Long ones are split.
func pieces(text string, size, room float64) []string {
	var all []string
	for _, word := range paragraph.Words(text) {
		for Width(word, size) > room {
			cut := -1
			for i, c := range word {
				head := strings.TrimRight(word[:i+1], " ")
				if strings.ContainsRune(",/-=. ", c) && i > 0 && i < len(word)-1 && Width(head, size) <= room {
					cut = i + 1
				}
			}
			if cut < 0 {
				break
			}
			all = append(all, word[:cut])
			word = word[cut:]
		}
		all = append(all, word+" ")
	}
	return all
}
