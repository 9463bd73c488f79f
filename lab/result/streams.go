package result

import (
	"wirelab/lab/plan"
	"wirelab/lab/stat"
)

// Streams is what a trial under a load of streams tells beside times, which in
// such a trial are of events: Planned were due in the window, OK were delivered
// right, Response is due to decoded, Service sent to decoded, Lag due to sent.
// Counts are of events that were due in the window, over all its slices.
type Streams struct {
	// Jitter is |D(i-1,i)| of RFC 3550, section 6.4.1, in ns: how much longer
	// or shorter after it was due an event was decoded than the one before it.
	Jitter *stat.Histogram `json:"jitter"`
	// Missing never came: they are among the trial's Errors too, under what
	// became of their stream. Duplicated came again, Reordered after one that
	// they should have come before. Stray were wrong, and of no event's number.
	Missing    uint64 `json:"missing"`
	Duplicated uint64 `json:"duplicated"`
	Reordered  uint64 `json:"reordered"`
	Stray      uint64 `json:"stray,omitempty"`
	// Slipped said of themselves that they were due at another time than the
	// rate has it. What is measured counts from when the rate has it.
	Slipped uint64 `json:"slipped,omitempty"`
	// Opening is how long the longest opening of all streams took.
	Opening plan.Duration `json:"opening"`
	// Ends is the slices, of a load whose readers are slow, over which its
	// figures below are summed; see [Behind].
	Ends int `json:"ends,omitempty"`
	Behind
	// Clients are the streams, one by one.
	Clients []Client `json:"clients"`
}

// Behind is where the readers of a slow load are at a slice's end, in events
// since their streams began.
type Behind struct {
	Due     uint64 `json:"due,omitempty"`     // by the rate
	Sent    uint64 `json:"sent,omitempty"`    // by the server, which was held back from the rest of Due
	Decoded uint64 `json:"decoded,omitempty"` // by the readers
	Dropped uint64 `json:"dropped,omitempty"` // of Sent, never to be read
}

// Buffered is what was on its way: sent, and neither decoded nor dropped.
func (b Behind) Buffered() uint64 { return b.Sent - min(b.Sent, b.Decoded+b.Dropped) }

// PushedBack is what was due, and the server did not come to send.
func (b Behind) PushedBack() uint64 { return b.Due - min(b.Due, b.Sent) }

func (b *Behind) add(more Behind) {
	b.Due += more.Due
	b.Sent += more.Sent
	b.Decoded += more.Decoded
	b.Dropped += more.Dropped
}

// Client is one stream's part of a trial.
type Client struct {
	Planned    uint64 `json:"planned"`
	Right      uint64 `json:"right"`
	Wrong      uint64 `json:"wrong,omitempty"`
	Completed  uint64 `json:"completed"` // right, and decoded inside the window
	Missing    uint64 `json:"missing,omitempty"`
	Duplicated uint64 `json:"duplicated,omitempty"`
	Reordered  uint64 `json:"reordered,omitempty"`
	Behind
	// Delivery is due to decoded, and Jitter as that of [Streams], in ns; nil
	// where there are more than [ClientTimes] streams.
	Delivery *stat.Histogram `json:"delivery,omitempty"`
	Jitter   *stat.Histogram `json:"jitter,omitempty"`
}

// ClientTimes is the most streams whose times are kept one by one: each takes
// some kilobytes of every trial.
const ClientTimes = 16

// Add adds a slice's streams to s, and returns them; s may be nil.
func (s *Streams) Add(more Streams) *Streams {
	if s == nil {
		s = &Streams{Jitter: &stat.Histogram{}}
	}
	s.Jitter.Merge(more.Jitter)
	s.Missing += more.Missing
	s.Duplicated += more.Duplicated
	s.Reordered += more.Reordered
	s.Stray += more.Stray
	s.Slipped += more.Slipped
	s.Opening = max(s.Opening, more.Opening)
	s.Ends += more.Ends
	s.add(more.Behind)
	for i, c := range more.Clients {
		if i == len(s.Clients) {
			s.Clients = append(s.Clients, Client{})
		}
		s.Clients[i].Add(c)
	}
	return s
}

// Add adds the counts and times of more streams.
func (c *Client) Add(more Client) {
	c.Planned += more.Planned
	c.Right += more.Right
	c.Wrong += more.Wrong
	c.Completed += more.Completed
	c.Missing += more.Missing
	c.Duplicated += more.Duplicated
	c.Reordered += more.Reordered
	c.add(more.Behind)
	for _, h := range []struct {
		into **stat.Histogram
		from *stat.Histogram
	}{{&c.Delivery, more.Delivery}, {&c.Jitter, more.Jitter}} {
		if h.from == nil {
			continue
		}
		if *h.into == nil {
			*h.into = &stat.Histogram{}
		}
		(*h.into).Merge(h.from)
	}
}

// Faulty is how many events came twice, in the wrong order, or as none that is.
func (s *Streams) Faulty() uint64 {
	if s == nil {
		return 0
	}
	return s.Duplicated + s.Reordered + s.Stray
}
