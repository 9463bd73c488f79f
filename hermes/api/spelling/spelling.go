// Package spelling is how APIs of text spell what a broker is asked with: modes, places in a topic, ids,
// durations. It knows no wire. Whatever it cannot read is InvalidArgument, and says what would do.
package spelling

import (
	"strconv"
	"strings"
	"time"

	"wirelab/hermes"
	"wirelab/hermes/broker"
	"wirelab/wire/rfc3339"
	"wirelab/wire/status"
)

// Mode reads a mode by its name; "" is consistent. Another one is refused
// and never taken for the default (hb-D27).
func Mode(name string) (hermes.Mode, error) {
	switch name {
	case "", "consistent":
		return hermes.Consistent, nil
	case "eventual":
		return hermes.Eventual, nil
	case "performance":
		return hermes.Performance, nil
	}
	return 0, status.Errorf(status.InvalidArgument, "mode is %.40q; want consistent, eventual or performance", name)
}

// From reads where to begin: "tail", "oldest", an offset, or a time.
func From(text string, start *broker.Start) error {
	switch text {
	case "tail":
		start.From = broker.FromTail
		return nil
	case "oldest":
		start.From = broker.FromOldest
		return nil
	}
	if offset, err := strconv.ParseUint(text, 10, 64); err == nil {
		start.From, start.Offset = broker.FromOffset, offset
		return nil
	}
	at, err := rfc3339.Parse(text)
	if err != nil || at.IsZero() || at.Year() < yearFirst || at.Year() > yearLast {
		return status.Errorf(status.InvalidArgument,
			"from is %.40q; want tail, oldest, an offset, or a time as of RFC 3339 from %d to %d", text, yearFirst,
			yearLast)
	}
	start.From, start.Time = broker.FromTime, at.UnixNano()
	return nil
}

// The years whose every nanosecond fits 64 bits.
const (
	yearFirst = 1678
	yearLast  = 2261
)

// Ranges spells offsets: "3-5,9-9", both of each inclusive.
func Ranges(ranges []broker.Range) string {
	var text []byte
	for i, r := range ranges {
		if i > 0 {
			text = append(text, ',')
		}
		text = strconv.AppendUint(text, r.First, 10)
		text = strconv.AppendUint(append(text, '-'), r.Last, 10)
	}
	return string(text)
}

// ID reads an id of a node or producer, from 1.
func ID(what, text string) (uint64, error) {
	id, err := strconv.ParseUint(text, 10, 64)
	if err != nil || id == 0 {
		return 0, status.Errorf(status.InvalidArgument, "%s is %.40q; want a whole number from 1, in a text", what,
			text)
	}
	return id, nil
}

// Duration reads a duration such as "1m30s"; "" is 0.
func Duration(what, text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, status.Errorf(status.InvalidArgument, "%s is %.40q; want a duration such as 1m30s", what, text)
	}
	return int64(d), nil
}

// OriginNode reads the name of a node as the origin's clients give it, which ends in the
// number that this cluster's ids are made of: node-2 is 2.
func OriginNode(name string) (uint64, error) {
	digits := name[len(strings.TrimRight(name, "0123456789")):]
	id, err := strconv.ParseUint(digits, 10, 64)
	if err != nil || id == 0 {
		return 0, status.Errorf(status.InvalidArgument,
			"node_id is %.100q; want a name that ends in the node's number, such as node-3", name)
	}
	return id, nil
}
