package node

import (
	"fmt"

	"go.etcd.io/raft/v3/raftpb"

	"wirelab/hermes/core"
	"wirelab/hermes/recentlog"
	"wirelab/hermes/record"
	"wirelab/hermes/wal"
)

// applied is what an entry of data brought.
type applied struct {
	placed  []wal.Placed
	runs    []recentlog.Run
	changes []core.Outcome // of commands and restored runs that changed something
}

// read pairs an entry's items with what became of them. time is that of the entry
// before, and of this one afterwards: it never falls.
func (a *applied) read(e *raftpb.Entry, outcomes []core.Outcome, time *int64) error {
	at, items, err := record.Parse(e.GetData())
	if err != nil {
		return err
	}
	*time = max(*time, at)
	i := 0
	for item, err := range items {
		if err != nil {
			return err
		}
		if i == len(outcomes) {
			return fmt.Errorf("an entry of more than %d items has so many outcomes", i)
		}
		o := outcomes[i]
		i++
		switch {
		case o.Err != nil || o.Duplicate:
		case item.Command != nil:
			a.changes = append(a.changes, o)
		default:
			r := item.Run
			when := *time
			if r.Old {
				when = r.Time
				a.changes = append(a.changes, o) // it may have moved the topic's first offset
			}
			a.placed = append(a.placed, wal.Placed{
				Topic: r.Topic, Offset: o.Offset, Count: r.Count, Time: when, At: r.At, Bytes: len(r.Messages),
			})
			if !r.Cleaned {
				a.runs = append(a.runs,
					recentlog.Run{
						Topic: r.Topic, Offset: o.Offset, Count: int(r.Count), Messages: r.Messages,
						Time: r.Time,
					})
			}
		}
	}
	return nil
}
