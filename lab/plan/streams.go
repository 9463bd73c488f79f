package plan

import (
	"fmt"
	"math"
)

// The bounds of loads that hold streams.
const (
	streamsMax   = 256 // the driver keeps several hundred kilobytes of histograms for each
	eventRateMax = 1e6 // events per second of each stream
	readerMin    = 0.01
	readerMax    = 0.99
)

// defaultSliceStreams is longer than that of calls. Each slice opens its own streams, and the shorter it is, the
// fewer events share that cost.
const defaultSliceStreams = Duration(2e9)

// The metrics of loads that hold streams, by the ids that package result gives them. They have other ids than those
// of calls, though they measure the same for an event, so that the two are never mixed up.
const (
	EventServerCPU         = "event-server-cpu"    // CPU time of the server per event
	EventDatabaseCPU       = "event-database-cpu"  // CPU time of the database's processes per event
	EventRate              = "event-rate"          // events delivered per second, of all streams
	DeliveryP50            = "delivery-p50"        // from when an event was due until it was decoded
	DeliveryP90            = "delivery-p90"        //
	DeliveryP99            = "delivery-p99"        //
	DeliveryP999           = "delivery-p99.9"      //
	TransitP50             = "transit-p50"         // from when an event was sent until it was decoded
	TransitP90             = "transit-p90"         //
	TransitP99             = "transit-p99"         //
	JitterP50              = "jitter-p50"          // how unlike the deliveries of two events in a row are
	JitterP99              = "jitter-p99"          //
	EventClientCPU         = "event-client-cpu"    // CPU time of the driver per event
	EventWireReceived      = "event-received"      // bytes per event, server to driver
	EventServerAllocations = "event-server-allocs" // heap allocations of the server per event
	EventClientAllocations = "event-client-allocs" // heap allocations of the driver per event
)

// StreamMetricIDs returns the ids of the metrics of streams, in the order in
// which reports show them.
func StreamMetricIDs() []string {
	return []string{
		EventServerCPU, EventDatabaseCPU, EventRate, DeliveryP50, DeliveryP90, DeliveryP99, DeliveryP999,
		TransitP50, TransitP90, TransitP99, JitterP50, JitterP99,
		EventClientCPU, EventWireReceived, EventServerAllocations, EventClientAllocations,
	}
}

// Slow reports whether its readers read more slowly than events are due.
func (l Load) Slow() bool { return l.traits().held && l.Reader > 0 }

// EachRate is the events per second of each stream of a checked load; 0 without streams.
func (l Load) EachRate() int64 {
	if !l.traits().held {
		return 0
	}
	return int64(l.Rate) / int64(l.Streams)
}

// Width is the maximum number of calls or streams under way at once.
func (l Load) Width() int {
	if l.traits().held {
		return l.Streams
	}
	return l.InFlight
}

// strayStreams refuses what only a load with streams says.
func (l Load) strayStreams(field string) error {
	if l.Reader != 0 {
		return outside(field+".reader", number(l.Reader),
			"left out unless the load has streams, whose readers it slows down")
	}
	return inRange(field+".streams", l.Streams, 1, streamsMax)
}

// checkStreams checks the fields of a load that concern streams.
func (l Load) checkStreams(field string) error {
	switch {
	case l.InFlight != 0:
		return bad(field+".in_flight", l.InFlight, "left out with streams, which are held open: there are no calls")
	case len(l.Stages) > 0:
		return outside(field+".stages", fmt.Sprintf("%d stages", len(l.Stages)),
			"left out with streams, whose rate is constant")
	case l.Arrivals != "" || l.Spread != 0 || l.Recording.Given() || l.Recording.File != "":
		return bad(field+".arrivals", l.Arrivals, "left out with streams, whose events are due at equal times")
	case l.Requests != "":
		return bad(field+".requests", l.Requests, "left out with streams: each stream requests all events, at its rate")
	case l.Rate == 0:
		return missing(field+".rate", "10000, the events per second of all streams together")
	}
	if err := first(
		inRange(field+".streams", l.Streams, 1, streamsMax),
		inRange(field+".reader", l.Reader, readerMin, readerMax),
	); err != nil {
		return err
	}
	each := l.Rate / float64(l.Streams)
	if each != math.Trunc(each) || each < 1 || each > eventRateMax {
		return outside(field+".rate",
			fmt.Sprintf("%s/s in all, %s/s of each of %d streams", number(l.Rate), number(each), l.Streams),
			fmt.Sprintf("a multiple of the streams, so that each has 1 to %.0f whole events per second", eventRateMax))
	}
	return nil
}

// strayStreaming refuses what only a plan of streams says.
func (p Plan) strayStreaming() error {
	if isMetric(p.Primary, StreamMetricIDs()) {
		return bad("primary", p.Primary, "a metric of calls, such as "+ServerCPU+", where no load has streams")
	}
	return nil
}

// checkStreaming checks the fields of a plan that streams restrict.
func (p Plan) checkStreaming() error {
	if !isMetric(p.Primary, StreamMetricIDs()) {
		return bad("primary", p.Primary, "a metric of streams, such as "+EventServerCPU+" or "+DeliveryP99)
	}
	for i, a := range p.Arms {
		if a.Raw() {
			return bad(fmt.Sprintf("arms[%d].driver", i), a.Driver,
				"client with streams: the raw driver sends requests that were built before, and cannot read streams")
		}
	}
	switch {
	case p.Requests != "":
		return bad("requests", p.Requests, "left out with streams: each stream requests all events, at its rate")
	case p.Floor == FloorAuto:
		return bad("floor", p.Floor, "none with streams, since a server that does nothing sends no events")
	}
	return p.checkSeen(EventServerCPU, EventServerAllocations)
}

// streamPrimary is the default primary metric.
func (p Plan) streamPrimary() string {
	if p.unseen() {
		return DeliveryP99
	}
	return EventServerCPU
}

// streamsPace describes a load of streams.
func (l Load) streamsPace() string {
	text := fmt.Sprintf("%d streams at %s/s in all", l.Streams, number(l.Rate))
	if l.Streams == 1 {
		text = fmt.Sprintf("1 stream at %s/s", number(l.Rate))
	}
	if l.Reader > 0 {
		text += ", read at " + number(math.Round(1e4*l.Reader)/1e2) + " %"
	}
	return text
}
