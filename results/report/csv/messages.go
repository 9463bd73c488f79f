package csv

import (
	"strconv"

	"wirelab/lab/kind/messages"
	"wirelab/lab/result"
)

// messages adds the rows of the account of a trial's messages.
func (t *trial) messages() {
	m := messages.Of(t.Trial)
	for _, c := range result.MessageCounters() {
		t.add(c.Name, strconv.FormatUint(*c.Of(&m.MessageCounts), 10), "", "")
	}
	t.add("peak-backlog", strconv.FormatUint(uint64(max(m.Peak(), 0)), 10), "", "")
}
