package result

import (
	"wirelab/lab/plan"
	"wirelab/lab/stat"
)

// Streams has the counters of a trial under a load of streams. The times of such a trial are of events: Planned were
// due in the window, OK were delivered right, Response is from due to decoded, Service from sent to decoded, Lag from
// due to sent. Counters are of events that were due in the window, over all slices.
type Streams struct {
	// Jitter is |D(i-1,i)| of RFC 3550, section 6.4.1, in ns: the difference between the delays, from due to decoded,
	// of an event and the one before it.
	Jitter *stat.Histogram `json:"jitter"`
	// Missing events never came. They are also among the trial's Errors, under the reason why their stream failed.
	// Duplicated events came again. Reordered events came after a later one. Stray events were wrong, and had no
	// known event's number.
	Missing    uint64 `json:"missing"`
	Duplicated uint64 `json:"duplicated"`
	Reordered  uint64 `json:"reordered"`
	Stray      uint64 `json:"stray,omitempty"`
	// Slipped events carried another due time than the rate gives. Times are measured from the due time that the rate
	// gives.
	Slipped uint64 `json:"slipped,omitempty"`
	// Opening is the time of the slowest opening of all streams.
	Opening plan.Duration `json:"opening"`
	// Ends is the number of slices over which the figures of slow readers are summed; see [Behind].
	Ends int `json:"ends,omitempty"`
	Behind
	// Clients are the individual streams.
	Clients []Client `json:"clients"`
}

// Behind says where the readers of a slow load are at the end of a slice, in events since their streams began.
type Behind struct {
	Due     uint64 `json:"due,omitempty"`     // by the rate
	Sent    uint64 `json:"sent,omitempty"`    // by the server, which could not send the rest of Due
	Decoded uint64 `json:"decoded,omitempty"` // by the readers
	Dropped uint64 `json:"dropped,omitempty"` // of Sent, and never to be read
}

// Buffered is the number of events on their way: sent, but neither decoded nor dropped.
func (b Behind) Buffered() uint64 { return b.Sent - min(b.Sent, b.Decoded+b.Dropped) }

// PushedBack is the number of events that were due but that the server could not send.
func (b Behind) PushedBack() uint64 { return b.Due - min(b.Due, b.Sent) }

func (b *Behind) add(more Behind) {
	b.Due += more.Due
	b.Sent += more.Sent
	b.Decoded += more.Decoded
	b.Dropped += more.Dropped
}

// Client is the part of one stream in a trial.
type Client struct {
	Planned    uint64 `json:"planned"`
	Right      uint64 `json:"right"`
	Wrong      uint64 `json:"wrong,omitempty"`
	Completed  uint64 `json:"completed"` // right, and decoded inside the window
	Missing    uint64 `json:"missing,omitempty"`
	Duplicated uint64 `json:"duplicated,omitempty"`
	Reordered  uint64 `json:"reordered,omitempty"`
	Behind
	// Delivery is from due to decoded, and Jitter is as in [Streams], in ns; nil if there are more than [ClientTimes]
	// streams.
	Delivery *stat.Histogram `json:"delivery,omitempty"`
	Jitter   *stat.Histogram `json:"jitter,omitempty"`
}

// ClientTimes is the maximum number of streams whose times are kept individually: each takes some kilobytes of every
// trial.
const ClientTimes = 16

// Add adds a slice's streams to s, and returns the sum; s may be nil.
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

// Add adds the counters and times of another stream.
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

// Faulty is the number of events that came twice, in the wrong order, or with an unknown number.
func (s *Streams) Faulty() uint64 {
	if s == nil {
		return 0
	}
	return s.Duplicated + s.Reordered + s.Stray
}
