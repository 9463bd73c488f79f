package csv

import (
	"encoding/csv"
	"io"
	"regexp"
	"strings"
)

// Sheet writes rows so that a spreadsheet shows their texts and evaluates none of them.
type Sheet struct{ *csv.Writer }

// NewSheet returns a sheet that writes to w.
func NewSheet(w io.Writer) Sheet { return Sheet{csv.NewWriter(w)} }

// Write writes a row.
func (s Sheet) Write(row []string) error {
	safe := make([]string, len(row))
	for i, text := range row {
		safe[i] = Cell(text)
	}
	return s.Writer.Write(safe)
}

// WriteAll writes rows and flushes them.
func (s Sheet) WriteAll(rows [][]string) error {
	for _, row := range rows {
		if err := s.Write(row); err != nil {
			return err
		}
	}
	s.Flush()
	return s.Error()
}

// begins are the characters that begin a formula in a spreadsheet, with their full-width forms.
const begins = "=+-@\t\r\n＝＋－＠"

var figureForm = regexp.MustCompile(`^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?$`)

// Cell puts an apostrophe before a text that would be a formula. Figures are not changed.
func Cell(text string) string {
	inner := strings.TrimLeft(text, " \u00a0")
	if inner != "" && strings.ContainsRune(begins, []rune(inner)[0]) && !figureForm.MatchString(text) {
		return "'" + text
	}
	return text
}
