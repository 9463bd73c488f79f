package streams

import (
	"fmt"

	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/stat"
)

// streamFlaws checks that what a trial says of streams adds up.
func streamFlaws(path string, t *result.Trial, l plan.Load, add func(path, format string, args ...any)) {
	s, here := t.Streams, l.Kind() == plan.Held
	switch {
	case !here && s != nil:
		add(path+".streams", "there are streams, and its load makes calls")
		return
	case here && s == nil:
		add(path+".streams", "there are none, and its load holds them")
		return
	case s == nil:
		return
	}
	if len(s.Clients) != l.Streams {
		add(path+".streams.clients", "%d, the load has %d streams", len(s.Clients), l.Streams)
	}
	var all result.Client
	delivery, jitter := &stat.Histogram{}, &stat.Histogram{}
	timed := true
	for i, one := range s.Clients {
		timed = timed && one.Delivery != nil && one.Jitter != nil
		if one.Delivery != nil && one.Delivery.Count() != one.Right {
			add(fmt.Sprintf("%s.streams.clients[%d].delivery", path, i), "it holds %d times, %d events were right",
				one.Delivery.Count(), one.Right)
		}
		delivery.Merge(one.Delivery)
		jitter.Merge(one.Jitter)
		one.Delivery, one.Jitter = nil, nil
		all.Add(one)
	}
	for _, sum := range []struct {
		name       string
		got, parts uint64
	}{
		{"planned", t.Planned, all.Planned},
		{"ok", t.OK, all.Right},
		{"completed", t.Completed, all.Completed},
		{"streams.missing", s.Missing, all.Missing},
		{"streams.duplicated", s.Duplicated, all.Duplicated},
		{"streams.reordered", s.Reordered, all.Reordered},
		{"streams.sent", s.Sent, all.Sent},
		{"streams.decoded", s.Decoded, all.Decoded},
	} {
		if sum.got != sum.parts {
			add(path+"."+sum.name, "%d, and its streams have %d together", sum.got, sum.parts)
		}
	}
	if timed && len(s.Clients) > 0 &&
		(t.Response != nil && delivery.Count() != t.Response.Count() ||
			s.Jitter != nil && jitter.Count() != s.Jitter.Count()) {
		add(path+".streams", "the times of its streams are not as many as all")
	}
	if !l.Slow() && t.Sent != t.Planned {
		add(path+".sent", "%d events are accounted for, %d were due", t.Sent, t.Planned)
	}
	if b := s.Behind; b.Dropped > b.Sent || b.Sent > b.Due+uint64(max(l.Streams, 0)*max(s.Ends, 0)) {
		add(path+".streams.sent", "%d sent of %d due, %d of them dropped", b.Sent, b.Due, b.Dropped)
	}
}
