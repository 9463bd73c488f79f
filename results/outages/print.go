package outages

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"wirelab/lab/chaos"
	"wirelab/lab/plan"
)

// printer prints to a terminal.
type printer interface {
	Printf(format string, args ...any) error
	PrintTable(rows [][]string) error
}

// Print prints a run: the account, the effect of each fault, and what callers saw.
func Print(a printer, r Run) error {
	if r.Report == nil {
		why := "failed: " + r.Failed
		switch {
		case r.Wanting:
			why = "absent: " + r.Absent
		case r.Absent != "":
			why = "not there: " + r.Absent // the part does not exist, or the path was not named
		}
		return a.Printf("%s, %s\n  %s\n\n", r.Path, r.Faults, why)
	}
	p := r.Report
	head := fmt.Sprintf("%s, %s\n  %.0f entries/s for %v", r.Path, r.Faults, p.Rate, tidy(p.Load))
	if p.Sustained > p.Rate {
		head += fmt.Sprintf(" (%.0f/s can be sustained)", p.Sustained)
	}
	if p.Interrupted {
		head += "; INTERRUPTED"
	}
	about := map[string]bool{} // the listener may name the same broker
	for _, part := range p.About {
		for product := range strings.SplitSeq(part, ", ") {
			about[product] = true
		}
	}
	for _, product := range slices.Sorted(maps.Keys(about)) {
		head += "; " + product
	}
	if err := a.Printf("%s\n", head); err != nil {
		return err
	}
	for _, say := range [][]string{r.LeftOut, p.Deaths} {
		for _, text := range say {
			if err := a.Printf("  note: %s\n", text); err != nil {
				return err
			}
		}
	}
	if r.Failed != "" {
		if err := a.Printf("  FAILED: %s\n", r.Failed); err != nil {
			return err
		}
	}
	for _, rows := range [][][]string{accountRows(p), seenRows(p), keptRows(p), secondRows(p)} {
		if len(rows) < 2 {
			continue
		}
		if err := a.Printf("\n"); err != nil {
			return err
		}
		if err := a.PrintTable(rows); err != nil {
			return err
		}
	}
	return a.Printf("\n")
}

// accountRows writes the account in words.
func accountRows(p *chaos.Report) [][]string {
	c := p.Account
	word := "as promised"
	switch {
	case p.Broken() > 0:
		word = "BROKEN: they were promised to be kept"
	case !p.Promised:
		word = "they were not promised to be kept"
	}
	atLeast := ""
	if c.AtLeast {
		atLeast = "at least: journals ended or forgot"
	}
	number := func(n uint64) string { return strconv.FormatUint(n, 10) }
	rows := [][]string{
		{"by id", "entries", ""},
		{"sent", number(c.Sent), ""},
		{"accepted", number(c.Accepted), ""},
		{"refused", number(c.Sent - c.Accepted), byCode(c.Refused)},
		{"stored", number(c.Stored), ""},
		{"missing", number(c.Missing), word},
		{"delivered again", number(c.Duplicated), atLeast},
		{"stored twice", number(c.Twice), ""},
		{"kept though refused", number(c.Kept), ""},
	}
	if p.Late > 0 {
		rows = append(rows, []string{"waited to be sent", number(p.Late), "as many as --in-flight were under way"})
	}
	if c.Unsent > 0 {
		rows = append(rows, []string{"never sent", number(c.Unsent), "they had waited too long for those before"})
	}
	if c.Forgotten > 0 {
		rows = append(rows, []string{
			"events forgotten", number(c.Forgotten),
			"by journals; the store knows its entries",
		})
	}
	if c.Stray > 0 {
		rows = append(rows, []string{"stray", number(c.Stray), "stored, but not sent here"})
	}
	for i := range rows {
		rows[i] = trimmed(rows[i])
	}
	return rows
}

// trimmed returns a row without the empty cells at its end.
func trimmed(row []string) []string {
	for len(row) > 0 && row[len(row)-1] == "" {
		row = row[:len(row)-1]
	}
	return row
}

// byCode writes refusals: "Unavailable 12, DeadlineExceeded 3".
func byCode[N int | uint64](refused map[string]N) string {
	var words []string
	for _, code := range slices.Sorted(maps.Keys(refused)) {
		words = append(words, fmt.Sprintf("%s %d", code, refused[code]))
	}
	return strings.Join(words, ", ")
}

// seenRows lists what callers saw of each fault. The column "again" gives the time since the fault began and, after
// +, since it ended.
func seenRows(p *chaos.Report) [][]string {
	rows := [][]string{{"callers", "at", "took", "p99", "worst", "refused", "in " + tidy(p.Limit) + " again"}}
	for _, e := range p.Effects {
		rows = append(rows, []string{
			e.Fault, tidy(e.At), tidy(e.Took), tidy(e.P99), tidy(e.Max), dash(byCode(e.Refused)), recovered(e.Response),
		})
	}
	return rows
}

// keptRows lists what happened to accepted entries.
func keptRows(p *chaos.Report) [][]string {
	rows := [][]string{{"store", "backlog", "gone after the end", "in " + tidy(p.Limit) + " again"}}
	for _, e := range p.Effects {
		rows = append(rows, []string{e.Fault, strconv.Itoa(e.BacklogPeak), drained(e.Drained), recovered(e.Storage)})
	}
	return rows
}

// recovered writes when something met its objective again.
func recovered(r chaos.Recovery) string {
	text := fmt.Sprintf("%s (+%s)", tidy(r.SinceBegin), tidy(r.SinceEnd))
	switch {
	case !r.Left:
		text = "always was"
	case !r.Back:
		text = "not in time"
	}
	if r.Already {
		text += ", nor before"
	}
	return text
}

func drained(d plan.Duration) string {
	switch {
	case d == 0:
		return "-"
	case d < 0:
		return "not in time"
	}
	return tidy(d)
}

// secondRows lists what callers saw. Seconds without trouble are joined into one row.
func secondRows(p *chaos.Report) [][]string {
	rows := [][]string{{"second", "accepted", "refused", "p99", "stored", "stored p99", "backlog"}}
	for i := 0; i < len(p.Seconds); {
		from := i
		s := p.Seconds[i]
		for i++; s.Within && i < len(p.Seconds) && p.Seconds[i].Within && begins(p, p.Seconds[i].At) == ""; i++ {
			n := p.Seconds[i]
			s.Due, s.Accepted, s.Stored, s.Backlog = s.Due+n.Due, s.Accepted+n.Accepted, s.Stored+n.Stored, n.Backlog
			s.P99, s.StoredP99 = max(s.P99, n.P99), max(s.StoredP99, n.StoredP99)
		}
		when := tidy(s.At)
		if i > from+1 {
			when += "–" + tidy(p.Seconds[i-1].At)
		}
		if what := begins(p, s.At); what != "" {
			when += " " + what
		}
		rows = append(rows, []string{
			when, strconv.Itoa(s.Accepted), dash(byCode(s.Refused)), tidy(s.P99),
			strconv.Itoa(s.Stored), tidy(s.StoredP99), strconv.Itoa(s.Backlog),
		})
	}
	return rows
}

func dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// begins returns the fault that begins in the row of a time, if any.
func begins(p *chaos.Report, at plan.Duration) string {
	every := plan.Duration(time.Second)
	if len(p.Seconds) > 1 {
		every = p.Seconds[1].At - p.Seconds[0].At
	}
	for _, e := range p.Effects {
		if e.At >= at && e.At < at+every {
			return e.Fault
		}
	}
	return ""
}

// tidy writes a duration with about three digits, "-" for none and "∞" for one that did not end.
func tidy(d plan.Duration) string {
	t := time.Duration(d)
	switch {
	case t == 0:
		return "0s"
	case t > 24*time.Hour:
		return "∞"
	case t >= 10*time.Second:
		return t.Round(100 * time.Millisecond).String()
	case t >= time.Second:
		return t.Round(10 * time.Millisecond).String()
	case t >= 10*time.Millisecond:
		return t.Round(time.Millisecond).String()
	}
	return t.Round(10 * time.Microsecond).String()
}
