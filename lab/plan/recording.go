package plan

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"wirelab"
)

// Recording has the times between arrivals that were recorded elsewhere, or generated.
type Recording struct {
	// Name is the name of the file that they come from.
	Name string `json:"name,omitempty" yaml:"name,omitempty"`
	// File is the file to read if Gaps are not given, relative to the plan's folder: see [ParseRecording]. A complete
	// plan has Gaps.
	File string `json:"file,omitempty" yaml:"file,omitempty"`
	// Gaps are the times between arrivals, 1 to 100,000, each 0 to 1 h.
	Gaps []Duration `json:"gaps,omitempty" yaml:"gaps,omitempty"`
}

// The bounds of a recording.
const (
	gapsMax           = 100_000
	gapMax            = Duration(time.Hour)
	RecordingFileSize = 16 << 20 // bytes
)

// Given reports whether there are gaps.
func (r Recording) Given() bool { return len(r.Gaps) > 0 }

// Span is the duration of the recording. A longer load starts it again.
func (r Recording) Span() time.Duration {
	sum := time.Duration(0)
	for _, gap := range r.Gaps {
		sum += time.Duration(gap) // 100,000 h at most
	}
	return sum
}

// Rate is its arrivals per second.
func (r Recording) Rate() float64 { return float64(len(r.Gaps)) / r.Span().Seconds() }

// Spread is the coefficient of variation of its gaps: standard deviation divided by mean.
func (r Recording) Spread() float64 {
	mean, squares := float64(r.Span())/float64(len(r.Gaps)), 0.0
	for _, gap := range r.Gaps {
		squares += (float64(gap) - mean) * (float64(gap) - mean)
	}
	return math.Sqrt(squares/float64(len(r.Gaps))) / mean
}

// check checks the recording of a load.
func (r Recording) check(field string) error {
	if r.File != "" {
		return bad(field+".file", r.File, "read before: wirelab run reads the files that a plan names")
	}
	if !r.Given() {
		return nil
	}
	if len(r.Gaps) > gapsMax {
		return outside(field+".gaps", strconv.Itoa(len(r.Gaps))+" gaps", "1 to "+strconv.Itoa(gapsMax))
	}
	for i, gap := range r.Gaps {
		if gap < 0 || gap > gapMax {
			return bad(field+".gaps["+strconv.Itoa(i)+"]", gap, "0 to "+gapMax.String())
		}
	}
	if r.Span() == 0 {
		return outside(field+".gaps", "0 throughout", "a gap above 0 somewhere")
	}
	return readable(field+".name", r.Name, textMax)
}

// ParseRecording reads a recording from the text of a file, in one of two forms:
//
//   - JSON: an object whose field inter_arrival_ms has the gaps in milliseconds, as the
//     published benchmark writes it. Its other fields are ignored.
//   - CSV: one column with gaps in milliseconds. With a header line: the column
//     inter_arrival_ms, or the column timestamp (seconds, or RFC 3339, never decreasing).
//
// The error has code InvalidArgument and names the line.
func ParseRecording(name string, data []byte) (Recording, error) {
	r := Recording{Name: filepath.Base(name)}
	if len(data) > RecordingFileSize {
		return r, wirelab.Errorf(wirelab.InvalidArgument, "%s has %d bytes; a recording has at most %d", name,
			len(data), RecordingFileSize)
	}
	var err error
	if text := bytes.TrimLeft(data, " \t\r\n\ufeff"); len(text) > 0 && text[0] == '{' {
		r.Gaps, err = gapsOfJSON(text)
	} else {
		r.Gaps, err = gapsOfCSV(text)
	}
	if err == nil && len(r.Gaps) == 0 {
		err = errors.New("it has no gaps")
	}
	if err == nil {
		err = r.check("recording")
	}
	if err != nil {
		return Recording{}, wirelab.Errorf(wirelab.InvalidArgument, "%s is no recording of arrivals: %v", name, err)
	}
	return r, nil
}

func gapsOfJSON(data []byte) ([]Duration, error) {
	var file struct {
		Gaps []*float64 `json:"inter_arrival_ms"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, err
	}
	gaps := make([]Duration, 0, len(file.Gaps))
	for i, ms := range file.Gaps {
		if ms == nil { // some programs write NaN as null
			return nil, errors.New("inter_arrival_ms[" + strconv.Itoa(i) +
				"] is null; leave it out, or give a number of milliseconds")
		}
		gap, err := ofMilliseconds(*ms)
		if err != nil {
			return nil, errors.Join(errors.New("inter_arrival_ms["+strconv.Itoa(i)+"]"), err)
		}
		gaps = append(gaps, gap)
	}
	return gaps, nil
}

// ofMilliseconds converts a gap, rounded to the nanosecond.
func ofMilliseconds(ms float64) (Duration, error) {
	if !(ms >= 0 && ms <= float64(gapMax)/1e6) {
		return 0, errors.New(strconv.FormatFloat(ms, 'g', -1, 64) + " ms is outside 0 to " + gapMax.String())
	}
	return Duration(math.Round(ms * 1e6)), nil
}

func gapsOfCSV(data []byte) ([]Duration, error) {
	rows := csv.NewReader(bytes.NewReader(data))
	rows.Comment, rows.TrimLeadingSpace, rows.ReuseRecord = '#', true, true
	take, column := takeGap, 0
	var gaps []Duration
	var last time.Time
	for first := true; ; first = false {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			return gaps, nil
		}
		if err != nil {
			return nil, err
		}
		if first {
			if at, found, ok := head(row); ok {
				column, take = at, found
				continue
			}
			if len(row) > 1 {
				return nil, errors.New("it has several columns; name one inter_arrival_ms or timestamp")
			}
		}
		gap, known, err := take(row[column], &last)
		if err != nil {
			line, _ := rows.FieldPos(column)
			return nil, errors.New("line " + strconv.Itoa(line) + ": " + err.Error())
		}
		if known {
			gaps = append(gaps, gap)
		}
		if len(gaps) > gapsMax {
			return nil, errors.New("it has more than " + strconv.Itoa(gapsMax) + " gaps")
		}
	}
}

// taker reads a gap from a cell. If cells are times, it needs the time of the cell before, and known is false for the
// first cell.
type taker func(cell string, last *time.Time) (gap Duration, known bool, err error)

// head finds the column that a header line names.
func head(row []string) (column int, take taker, ok bool) {
	if at := slices.Index(row, "inter_arrival_ms"); at >= 0 {
		return at, takeGap, true
	}
	if at := slices.Index(row, "timestamp"); at >= 0 {
		return at, takeTime, true
	}
	return 0, nil, false
}

func takeGap(cell string, _ *time.Time) (Duration, bool, error) {
	ms, err := strconv.ParseFloat(strings.TrimSpace(cell), 64)
	if err != nil {
		return 0, false, errors.New(strconv.Quote(shortened(cell)) + " is not a number of milliseconds")
	}
	gap, err := ofMilliseconds(ms)
	return gap, true, err
}

func takeTime(cell string, last *time.Time) (Duration, bool, error) {
	at, err := timeOf(strings.TrimSpace(cell))
	if err != nil {
		return 0, false, err
	}
	before := *last
	*last = at
	if before.IsZero() {
		return 0, false, nil
	}
	gap := at.Sub(before)
	if gap < 0 || gap > time.Duration(gapMax) {
		return 0, false, errors.New(strconv.Quote(shortened(cell)) + " is not 0 to " + gapMax.String() +
			" after the time before it")
	}
	return Duration(gap), true, nil
}

// timeOf reads a time as RFC 3339, or as seconds since 1970 with an optional fraction.
func timeOf(cell string) (time.Time, error) {
	if at, err := time.Parse(time.RFC3339, cell); err == nil {
		return at, nil
	}
	seconds, fraction, _ := strings.Cut(cell, ".")
	whole, err := strconv.ParseInt(seconds, 10, 40)
	if err != nil || whole < 0 || len(fraction) > 9 {
		return time.Time{}, errors.New(strconv.Quote(shortened(cell)) +
			" is neither seconds since 1970 nor a time of RFC 3339")
	}
	nanoseconds, err := strconv.ParseUint("0"+(fraction + "000000000")[:9], 10, 32)
	if err != nil {
		return time.Time{}, errors.New(strconv.Quote(shortened(cell)) +
			" is neither seconds since 1970 nor a time of RFC 3339")
	}
	return time.Unix(whole, int64(nanoseconds)).UTC(), nil
}

func shortened(text string) string {
	if len(text) > 40 {
		return strings.ToValidUTF8(text[:40], "") + "…"
	}
	return text
}
