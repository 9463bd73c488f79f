package csv

import "strconv"

// messages are the rows of the account of a trial's messages.
func (t *trial) messages() {
	m := t.Messages
	if m == nil {
		return
	}
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
		t.add(c.metric, strconv.FormatUint(c.n, 10), "", "")
	}
}
