package result

import (
	"math"
	"slices"
	"time"

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
		s.Clients[i].add(c)
	}
	return s
}

func (c *Client) add(more Client) {
	c.Planned += more.Planned
	c.Right += more.Right
	c.Wrong += more.Wrong
	c.Completed += more.Completed
	c.Missing += more.Missing
	c.Duplicated += more.Duplicated
	c.Reordered += more.Reordered
	c.Behind.add(more.Behind)
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

// faulty is how many events came twice, in the wrong order, or as none that is.
func (s *Streams) faulty() uint64 {
	if s == nil {
		return 0
	}
	return s.Duplicated + s.Reordered + s.Stray
}

// Missing, Duplicated and Reordered count events that did not come once and in
// order. They should be 0, and where they are not no figure of the arm is valid.
const (
	MissingEvents    = "missing"
	DuplicatedEvents = "duplicated"
	ReorderedEvents  = "reordered"
)

// streamMetrics are those of loads that hold streams.
func streamMetrics() []Metric {
	times := func(id, title string, q float64, of func(*Trial) *stat.Histogram, gain, loss string) Metric {
		return Metric{
			ID: id, Title: title, Short: title, Dimension: Time, Gain: gain, Loss: loss, Streams: true, Quantile: q, of: of,
		}
	}
	all := []Metric{
		perEvent(plan.EventServerCPU, "server CPU", Time, func(t *Trial) (float64, bool) { return cpu(t.Server) }),
		optional(perEvent(plan.EventDatabaseCPU, "database CPU", Time, databaseCPU)),
		{
			ID: plan.EventRate, Title: "events delivered per second, in all", Short: "events/s in all", Dimension: Frequency, Higher: true,
			Gain: "more", Loss: "fewer", Streams: true, Slow: true, take: throughput,
		},
		times(plan.DeliveryP50, "delivery p50", 0.5, response, "faster", "slower"),
		times(plan.DeliveryP90, "delivery p90", 0.9, response, "faster", "slower"),
		times(plan.DeliveryP99, "delivery p99", 0.99, response, "faster", "slower"),
		times(plan.DeliveryP999, "delivery p99.9", 0.999, response, "faster", "slower"),
		times(plan.TransitP50, "transit p50", 0.5, service, "faster", "slower"),
		times(plan.TransitP90, "transit p90", 0.9, service, "faster", "slower"),
		times(plan.TransitP99, "transit p99", 0.99, service, "faster", "slower"),
		times(plan.JitterP50, "jitter p50", 0.5, jitter, "steadier", "less steady"),
		times(plan.JitterP99, "jitter p99", 0.99, jitter, "steadier", "less steady"),
		perEvent(plan.EventClientCPU, "client CPU", Time, func(t *Trial) (float64, bool) { return cpu(t.Driver) }),
		perEvent(plan.EventWireReceived, "received", Size, func(t *Trial) (float64, bool) { return float64(t.WireReceived), true }),
		perEvent(plan.EventServerAllocations, "server allocs", Number, func(t *Trial) (float64, bool) { return served(t.Server) }),
		perEvent(plan.EventClientAllocations, "client allocs", Number, func(t *Trial) (float64, bool) { return allocations(t.Driver) }),
	}
	counted := func(id string, of func(*Streams) uint64) Metric {
		return Metric{
			ID: id, Title: id + " events", Short: id, Dimension: Number, Gain: "fewer", Loss: "more",
			Streams: true, Slow: true, Counted: true, take: func(t *Trial) (float64, bool) {
				if t.Streams == nil {
					return 0, false
				}
				return float64(of(t.Streams)), true
			},
		}
	}
	return append(all,
		counted(MissingEvents, func(s *Streams) uint64 { return s.Missing }),
		counted(DuplicatedEvents, func(s *Streams) uint64 { return s.Duplicated }),
		counted(ReorderedEvents, func(s *Streams) uint64 { return s.Reordered }),
	)
}

// perEvent is [perRequest] of events.
func perEvent(id, title string, in Dimension, total func(*Trial) (float64, bool)) Metric {
	m := perRequest(id, title, in, total)
	m.Closed, m.Open, m.Streams = false, false, true
	m.Title = perEventWords(m.Title)
	m.Short = perEventWords(m.Short)
	return m
}

func jitter(t *Trial) *stat.Histogram {
	if t.Streams == nil {
		return nil
	}
	return t.Streams.Jitter
}

// StreamState is how an arm's streams did, one by one and together.
type StreamState struct {
	// Target and Achieved are events per second, of all streams together.
	Target   float64 `json:"target"`
	Achieved float64 `json:"achieved,omitempty"`
	// Refused holds Achieved where a check refuses it.
	Refused Refusals `json:"refused,omitempty"`
	// Missing, Duplicated, Reordered and Wrong are of all streams and rounds.
	Missing    uint64 `json:"missing"`
	Duplicated uint64 `json:"duplicated"`
	Reordered  uint64 `json:"reordered"`
	Wrong      uint64 `json:"wrong"`
	// Behind is where slow readers are on average at a slice's end, of all
	// streams together; nil where readers are not slow.
	Behind  *SlowState    `json:"behind,omitempty"`
	Clients []ClientState `json:"clients"`
}

// SlowState is a [Behind] on average over slices, in events.
type SlowState struct {
	Due        float64 `json:"due"`
	Sent       float64 `json:"sent,omitempty"`
	Decoded    float64 `json:"decoded,omitempty"`
	Buffered   float64 `json:"buffered,omitempty"`
	PushedBack float64 `json:"pushed_back,omitempty"`
	Dropped    float64 `json:"dropped,omitempty"`
	// BufferedBytes is Buffered times what an event takes on the wire.
	BufferedBytes float64 `json:"buffered_bytes,omitempty"`
	// Refused holds all but Due where no figure of the arm is valid.
	Refused Refusals `json:"refused,omitempty"`
}

// ClientState is one stream of an arm, over all rounds.
type ClientState struct {
	Target     float64 `json:"target"` // events/s of this stream alone
	Achieved   float64 `json:"achieved,omitempty"`
	Events     uint64  `json:"events"` // right
	Missing    uint64  `json:"missing"`
	Duplicated uint64  `json:"duplicated"`
	Reordered  uint64  `json:"reordered"`
	Wrong      uint64  `json:"wrong"`
	// DeliveryP50, DeliveryP99 and JitterP99 are in ns; 0 where not known.
	DeliveryP50 float64 `json:"delivery_p50,omitempty"`
	DeliveryP99 float64 `json:"delivery_p99,omitempty"`
	JitterP99   float64 `json:"jitter_p99,omitempty"`
	// Refused holds Achieved and the times where a check refuses them.
	Refused Refusals `json:"refused,omitempty"`
}

// limitClients bounds what is analysed of a result from a file.
const limitClients = 1024

// streamState works out how an arm's streams did; nil where the load has none.
func streamState(l plan.Load, trials []*Trial) *StreamState {
	if len(trials) == 0 {
		return nil
	}
	var all *Streams
	var window, completed, wrong float64
	var received, read uint64
	for _, t := range trials {
		window += time.Duration(max(t.Window, 0)).Seconds()
		completed += float64(t.Completed)
		wrong += float64(t.Errors[WrongReply])
		received += t.WireReceived
		read += t.Calls()
		if t.Streams != nil {
			all = all.Add(*t.Streams)
		}
	}
	if all == nil {
		return nil
	}
	rate := func(n float64) float64 {
		if window <= 0 {
			return 0
		}
		return finite(n / window)
	}
	found := &StreamState{
		Target: l.Rate, Achieved: rate(completed),
		Missing: all.Missing, Duplicated: all.Duplicated, Reordered: all.Reordered, Wrong: uint64(wrong) + all.Stray,
		Clients: []ClientState{},
	}
	for _, c := range all.Clients[:min(len(all.Clients), limitClients)] {
		found.Clients = append(found.Clients, ClientState{
			Target: float64(l.EachRate()), Achieved: rate(float64(c.Completed)), Events: c.Right,
			Missing: c.Missing, Duplicated: c.Duplicated, Reordered: c.Reordered, Wrong: c.Wrong,
			DeliveryP50: quantile(c.Delivery, 0.5), DeliveryP99: quantile(c.Delivery, 0.99), JitterP99: quantile(c.Jitter, 0.99),
		})
	}
	if l.Slow() && all.Ends > 0 {
		mean := func(n uint64) float64 { return float64(n) / float64(all.Ends) }
		found.Behind = &SlowState{
			Due: mean(all.Due), Sent: mean(all.Sent), Decoded: mean(all.Decoded), Dropped: mean(all.Dropped),
			Buffered: mean(all.Buffered()), PushedBack: mean(all.PushedBack()),
		}
		if read > 0 {
			found.Behind.BufferedBytes = finite(found.Behind.Buffered * float64(received) / float64(read))
		}
	}
	return found
}

// quantile is 0 where there are too few times for it: ten beyond it.
func quantile(h *stat.Histogram, q float64) float64 {
	if h == nil || float64(h.Count())*(1-q) < 10 {
		return 0
	}
	return float64(h.Quantile(q))
}

// spread is the smallest and largest of what clients have; ok is false where
// one has none.
func spread(clients []ClientState, of func(ClientState) float64) (low, high float64, ok bool) {
	if len(clients) == 0 {
		return 0, 0, false
	}
	low, high = math.Inf(1), 0
	for _, c := range clients {
		low, high = min(low, of(c)), max(high, of(c))
	}
	return low, high, low > 0
}

// Spread is the smallest and largest of what an arm's streams have of one
// thing; ok is false where it is not known of each.
func (s *StreamState) Spread(of func(ClientState) float64) (low, high float64, ok bool) {
	return spread(slices.Clone(s.Clients), of)
}
