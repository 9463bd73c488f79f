package services

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"wirelab/internal/paragraph"
)

// NumberText writes a number so that the YAML library reads it as one. The library itself writes 1e+08, which it then
// reads as text.
func NumberText(v float64) ([]byte, error) {
	if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
		return strconv.AppendInt(nil, int64(v), 10), nil
	}
	text := strconv.FormatFloat(v, 'g', -1, 64)
	if before, after, ok := strings.Cut(text, "e"); ok && !strings.Contains(before, ".") {
		text = before + ".0e" + after
	}
	return []byte(text), nil
}

// CheckedText describes the check of one call.
func CheckedText(c Checked, columns int) string {
	if c.Error != "" {
		return fmt.Sprintf("✗ %s over %s: %s\n", c.Operation, c.Wire, c.Error)
	}
	said := fmt.Sprintf("✓ %s over %s: status %d, %d bytes\n", c.Operation, c.Wire, c.Status, c.Bytes)
	for _, line := range []struct{ what, text string }{
		{"reply   ", c.Reply},
		{"differs ", strings.Join(c.Vary, ", ")},
		{"compared", c.Compared},
		{"again   ", c.Again},
		{"raw     ", c.Raw},
	} {
		if line.text == "" {
			continue
		}
		text := line.text
		switch strings.TrimSpace(line.what) {
		case "differs":
			text += " from one reply to the next: list it under ignore, or set expect to status"
		case "again":
			text = "refused when it was sent again, so a load needs rows with a different value for each call: " + text
		case "raw":
			text = "the client library is used, since the raw driver cannot call it: " + text
		}
		said += paragraph.Hang("  "+line.what, 12, text, columns)
	}
	return said
}
