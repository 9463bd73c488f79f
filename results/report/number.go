package report

import (
	"math"
	"strconv"
	"strings"

	"wirelab/lab/result/claim"
	"wirelab/lab/result/metric"
)

// Unit is a unit in which values of a dimension are shown.
type Unit struct {
	Name string // "µs"; empty for plain numbers
	Size float64
}

// units returns the units of a dimension, in ascending order.
func units(d metric.Dimension) []Unit {
	switch d {
	case metric.Time:
		return []Unit{{"ns", 1}, {"µs", 1e3}, {"ms", 1e6}, {"s", 1e9}}
	case metric.Size:
		return []Unit{{"B", 1}, {"kB", 1e3}, {"MB", 1e6}}
	case metric.Frequency:
		return []Unit{{"/s", 1}}
	}
	return []Unit{{"", 1}}
}

// BaseUnit returns the unit in which values of a dimension are stored: "ns", "B", "/s". Tables for programs give it
// next to the number.
func BaseUnit(d metric.Dimension) string { return units(d)[0].Name }

// UnitFor picks one unit for a column: the largest in which no value falls below 1, so that figures can be compared
// at a glance.
func UnitFor(d metric.Dimension, values ...float64) Unit {
	smallest := math.Inf(1)
	for _, v := range values {
		if v > 0 {
			smallest = min(smallest, v)
		}
	}
	all := units(d)
	best := all[0]
	for _, u := range all[1:] {
		if !math.IsInf(smallest, 1) && smallest >= u.Size && !(d == metric.Size && smallest < 100*u.Size) {
			best = u
		}
	}
	return best
}

// RowUnit picks the unit for all values of a row. It is the empty unit if the row has no value.
func RowUnit(m metric.Metric, row *claim.Row) Unit {
	var values []float64
	for _, c := range row.Cells {
		if c.Estimate.Known {
			values = append(values, c.Estimate.Value)
		} else if one := c.Estimate.ShownRefused(); one != nil {
			values = append(values, one.Value)
		}
	}
	if len(values) == 0 {
		return Unit{Size: 1}
	}
	return UnitFor(m.Dimension, values...)
}

// Absent is shown where there is no number.
const Absent = "–"

// vague is the half-width of an interval, as a share, from which two digits are enough.
const vague = 0.05

// Value writes an estimate in a unit, without the unit's name. It uses three significant digits, two if the interval
// is wide or missing, and all digits if every round gave the same value. An unknown estimate is [Absent]. A refused
// value that is to be printed is marked.
func Value(e claim.Estimate, u Unit) string {
	if !e.Known {
		if one := e.ShownRefused(); one != nil {
			return Refused(refusedDigits(one.Value / u.Size))
		}
		return Absent
	}
	v := e.Value / u.Size
	if e.Low == e.High && v == math.Trunc(v) && v < 1e15 { // exact, or a count
		return group(strconv.FormatFloat(v, 'f', 0, 64))
	}
	if !e.Interval() || (e.High-e.Low)/2 > vague*e.Value {
		return Significant(v, 2)
	}
	return Significant(v, 3)
}

// Significant writes v with the given number of significant digits and with commas between thousands: 0.123, 24.1,
// 1,210, 12,300.
func Significant(v float64, digits int) string {
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return Absent
	case v == 0:
		return "0"
	}
	// Rounding may carry into another digit (9.996 is 10.0), so round first.
	v, err := strconv.ParseFloat(strconv.FormatFloat(v, 'e', digits-1, 64), 64)
	if err != nil {
		return Absent
	}
	decimals := digits - 1 - int(math.Floor(math.Log10(math.Abs(v))+1e-9))
	return group(sign(strconv.FormatFloat(v, 'f', max(decimals, 0), 64)))
}

// group puts commas between the thousands of a number.
func group(number string) string {
	whole, rest := number, ""
	if dot := strings.IndexByte(number, '.'); dot >= 0 {
		whole, rest = number[:dot], number[dot:]
	}
	digits := strings.TrimLeft(whole, "−-+")
	lead := whole[:len(whole)-len(digits)]
	for at := len(digits) - 3; at > 0; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return lead + digits + rest
}

// sign replaces the hyphen of a negative number by a minus sign, which is as wide as a plus sign.
func sign(number string) string { return strings.Replace(number, "-", "−", 1) }

// Percent writes a share as a percentage with two significant digits, which is enough for margins and widths: "2.1
// %", "0.33 %", "12 %".
func Percent(share float64) string { return Significant(100*share, 2) + " %" }

// Margin writes a margin in the usual notation: "±3 %".
func Margin(share float64) string { return "±" + given(share) }

// given writes a share from the settings as a percentage, with the digits that the user gave.
func given(share float64) string {
	return strconv.FormatFloat(math.Round(1e5*share)/1e3, 'f', -1, 64) + " %"
}

// change writes a ratio as a signed change in percent, without the percent sign.
func change(ratio float64, decimals int) string {
	text := strconv.FormatFloat(100*(ratio-1), 'f', decimals, 64)
	if strings.Trim(text, "-0.") == "" {
		return strings.TrimPrefix(text, "-") // neither +0 nor −0
	}
	if text[0] != '-' {
		text = "+" + text
	}
	return group(sign(text))
}

// decimals returns how many decimals the width of the interval justifies. The maximum is one, since no reader needs
// more.
func decimals(d *claim.Difference) int {
	half := 100 * (d.High - d.Low) / 2
	if half >= 5 {
		return 0
	}
	return 1
}

// Change writes a difference without its interval: "+32.4 %". It returns [Absent] if there is no difference.
func Change(d *claim.Difference) string {
	if d == nil || !d.Known {
		return Absent
	}
	return change(d.Ratio, decimals(d)) + " %"
}

// widest is the greatest ratio of an interval's upper end to its lower end. An interval that is wider only shows that
// there are too few rounds, in figures that are hard to read.
const widest = 50

const unbounded = "too few rounds for an interval"

// Bounded reports whether a difference has an interval that says something. If not, [Interval] says so, and sentences
// must not quote it.
func Bounded(d *claim.Difference) bool {
	return d != nil && d.Known && (d.Exact || d.Low > 0 && d.High <= widest*d.Low)
}

// Interval writes the interval of a difference: "[+31.6, +33.2]", "exact", or that there are too few rounds for an
// interval. It returns "" if there is no difference.
func Interval(d *claim.Difference) string {
	switch {
	case d == nil || !d.Known:
		return ""
	case d.Exact:
		return "exact"
	case !Bounded(d):
		return unbounded
	}
	n := decimals(d)
	return "[" + change(d.Low, n) + ", " + change(d.High, n) + "]"
}
