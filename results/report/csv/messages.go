package csv

import (
	"strconv"

	"wirelab/lab/result"
)

// messages are the rows of the account of a trial's messages.
func messages(r *result.Result, l *result.LoadAnalysis, round int, t *result.Trial) [][]string {
	m := t.Messages
	if m == nil {
		return nil
	}
	var all [][]string
	for _, c := range []struct {
		metric string
		n      uint64
	}{
		{"sent", m.Sent},
		{"acknowledged", m.Acknowledged},
		{"unsure", m.Unsure},
		{"expected", m.Expected},
		{"delivered", m.Delivered},
		{"missing", m.Missing},
		{"kept", m.Kept},
		{"duplicated", m.Duplicated},
		{"redelivered", m.Redelivered},
		{"reordered", m.Reordered},
		{"displaced", m.Displaced},
		{"corrupted", m.Corrupted},
		{"misrouted", m.Misrouted},
		{"stray", m.Stray},
		{"peak-backlog", uint64(max(m.Peak(), 0))},
	} {
		all = append(all, line(r, round+1, t.Arm, l.Name, c.metric, strconv.FormatUint(c.n, 10), "", strconv.FormatBool(t.Steady), ""))
	}
	return all
}
