package metrics

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"wirelab/hermes/broker"
	"wirelab/hermes/node"
	"wirelab/wire/status"
)

// Other is the topic and the group that stand for all that have no series of their own.
const Other = ".other"

// Usual is how many topics, and how many groups, have series of their own.
const Usual = 200

// scrapeTime is how long a node may take to say how it is doing.
const scrapeTime = 5 * time.Second

// Options are what may be set. The zero value of each is its default.
type Options struct {
	Topics int // and groups, with series of their own. 200
	// Listeners return the connections of each listener, by its name.
	Listeners map[string]func() Connections
	// Requests returns the requests in progress; nil: they are not shown.
	Requests func() Requests
	// Visible reports for which topics, and their groups, the caller may see the numbers. The others are
	// part of the sum. nil: all.
	Visible func(ctx context.Context) (topic, groups func(topic string) bool)
}

// Connections are those of a listener: those open now, and those that were closed by reason.
type Connections struct {
	Open                  int
	Full, Address, Silent uint64
}

// Requests are those under way, and those that were ended by reason.
type Requests struct {
	Bytes         int64
	Full, Stalled uint64
}

// Source is the node that is reported on.
type Source interface {
	Stats(ctx context.Context) (node.Stats, error)
	Live() error
	Ready(ctx context.Context) error
}

// Metrics is a node's. All methods are for any goroutine.
type Metrics struct {
	limit      int
	listeners  map[string]func() Connections
	requests   func() Requests
	visible    func(ctx context.Context) (topic, groups func(topic string) bool)
	traffic    traffic
	sync       histogram
	commit     histogram
	collectors *prometheus.Registry
}

var _ node.Observer = (*Metrics)(nil)

// New makes the metrics of a node that is opened next, as whose Observer they go.
func New(o Options) *Metrics {
	if o.Visible == nil {
		all := func(string) bool { return true }
		o.Visible = func(context.Context) (topic, groups func(string) bool) { return all, all }
	}
	return &Metrics{
		visible: o.Visible, limit: cmp.Or(o.Topics, Usual), listeners: o.Listeners, requests: o.Requests,
		traffic:    traffic{topics: map[string]*through{}},
		collectors: prometheus.NewRegistry(),
	}
}

// Synced implements [node.Observer].
func (m *Metrics) Synced(took time.Duration) { m.sync.observe(took, 1) }

// Committed implements [node.Observer].
func (m *Metrics) Committed(took time.Duration, proposals int) { m.commit.observe(took, proposals) }

// scrapesAtOnce is how many may ask at once.
const scrapesAtOnce = 2

// Handler serves the metrics of a node in the formats of Prometheus, to each who asks what he may see. It is to
// be made once.
func (m *Metrics) Handler(of Source) http.Handler {
	m.collectors.MustRegister(collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	slots := make(chan struct{}, scrapesAtOnce)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case slots <- struct{}{}:
			defer func() { <-slots }()
		default:
			http.Error(w, fmt.Sprintf("%d others are asking already: try again later", scrapesAtOnce),
				http.StatusServiceUnavailable)
			return
		}
		own := prometheus.NewRegistry() // the numbers differ by who asks
		c := &collector{Metrics: m, of: of}
		c.topicSeen, c.groupsSeen = m.visible(r.Context())
		own.MustRegister(c)
		promhttp.HandlerFor(prometheus.Gatherers{m.collectors, own}, promhttp.HandlerOpts{
			Timeout: 2 * scrapeTime, ErrorHandling: promhttp.HTTPErrorOnError,
		}).ServeHTTP(w, r)
	})
}

// collector asks when it is asked.
type collector struct {
	*Metrics
	of Source

	topicSeen, groupsSeen func(topic string) bool // by caller
}

// Describe implements [prometheus.Collector].
func (c *collector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range described {
		to <- d
	}
}

// Collect implements [prometheus.Collector]. A node that cannot say how it is doing tells what
// it counted itself, with hermes_up 0.
func (c *collector) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTime)
	defer cancel()
	to <- gauge(live, flag(c.of.Live() == nil))
	to <- gauge(ready, flag(c.of.Ready(ctx) == nil))
	to <- c.sync.metric(syncSeconds)
	to <- c.commit.metric(commitSeconds)
	for code := range c.traffic.refused {
		if n := c.traffic.refused[code].Load(); n > 0 {
			to <- counter(refused, float64(n), status.Code(code).String())
		}
	}
	c.connections(to)
	s, err := c.of.Stats(ctx)
	to <- gauge(up, flag(err == nil))
	if err != nil {
		return
	}
	c.node(to, s)
	c.topics(to, s.Topics)
	c.groups(to, s.Groups)
}

func (c *collector) connections(to chan<- prometheus.Metric) {
	for name, counts := range c.listeners {
		n := counts()
		to <- gauge(connections, float64(n.Open), name)
		to <- counter(connectionsRefused, float64(n.Full), name, "full")
		to <- counter(connectionsRefused, float64(n.Address), name, "address")
		to <- counter(connectionsRefused, float64(n.Silent), name, "silent")
	}
	if c.requests != nil {
		n := c.requests()
		to <- gauge(requestBytes, float64(n.Bytes))
		to <- counter(requestsRefused, float64(n.Full), "full")
		to <- counter(requestsRefused, float64(n.Stalled), "stalled")
	}
}

func (c *collector) node(to chan<- prometheus.Metric, s node.Stats) {
	for _, g := range []struct {
		d *prometheus.Desc
		v float64
	}{
		{term, float64(s.Term)},
		{committed, float64(s.Committed)},
		{applied, float64(s.Applied)},
		{isLeader, flag(s.Leader == s.Node)},
		{hasLeader, flag(s.Leader != 0)},
		{segments, float64(s.Segments)},
		{logBytes, float64(s.LogBytes)},
		{logFiles, float64(s.OpenFiles)},
		{logFilesLimit, float64(s.OpenLimit)},
		{freeBytes, float64(s.FreeBytes)},
		{full, flag(s.Full)},
		{starved, flag(s.Starved)},
		{apart, flag(s.Apart)},
		{copied, flag(s.Copied)},
		{clockOff, flag(s.ClockOff)},
		{clockAhead, s.ClockAhead.Seconds()},
		{scrubOpen, flag(s.Scrub.Open)},
		{inHand, float64(s.InHandBytes)},
		{backlog, float64(s.BacklogBytes)},
		{topicCount, float64(len(s.Topics))},
	} {
		to <- gauge(g.d, g.v)
	}
	to <- counter(elections, float64(s.Elections))
	to <- counter(scrubBytes, float64(s.Scrub.Bytes))
	to <- counter(scrubDamage, float64(s.Scrub.Damage))
	to <- counter(scrubRepaired, float64(s.Scrub.Repaired))
}

// sums are the sums of a topic.
type sums struct{ in, inBytes, out, outBytes, kept, next, subscribers float64 }

func (s *sums) add(t *broker.Topic, through *through) {
	s.kept += float64(t.Bytes)
	s.next += float64(t.Next)
	s.subscribers += float64(t.Subscribers)
	s.count(through)
}

func (s *sums) count(t *through) {
	if t == nil {
		return
	}
	s.in += float64(t.in.Load())
	s.inBytes += float64(t.inBytes.Load())
	s.out += float64(t.out.Load())
	s.outBytes += float64(t.outBytes.Load())
}

func (s *sums) tell(to chan<- prometheus.Metric, topic string) {
	to <- counter(messagesIn, s.in, topic)
	to <- counter(bytesIn, s.inBytes, topic)
	to <- counter(messagesOut, s.out, topic)
	to <- counter(bytesOut, s.outBytes, topic)
	to <- gauge(topicBytes, s.kept, topic)
	to <- counter(topicMessages, s.next, topic)
	to <- gauge(subscribers, s.subscribers, topic)
}

func (c *collector) topics(to chan<- prometheus.Metric, all []broker.Topic) {
	there := make(map[string]bool, len(all))
	for _, t := range all {
		there[t.Name] = true
	}
	c.traffic.forget(there)
	// The oldest, since they stay who they are: the busiest would change with every scrape.
	slices.SortFunc(all, func(a, b broker.Topic) int { return cmp.Compare(a.ID, b.ID) })
	var rest sums
	rest.count(&c.traffic.gone)
	told := 0
	for i := range all {
		t := &all[i]
		if told >= c.limit || !c.topicSeen(t.Name) {
			rest.add(t, c.traffic.find(t.Name))
			continue
		}
		told++
		var s sums
		s.add(t, c.traffic.find(t.Name))
		s.tell(to, t.Name)
	}
	rest.tell(to, Other)
}

func (c *collector) groups(to chan<- prometheus.Metric, all []broker.Group) {
	// One that lags is one that is looked for.
	slices.SortStableFunc(all, func(a, b broker.Group) int { return cmp.Compare(b.Lag, a.Lag) })
	var told []broker.Group
	rest, more := broker.Group{Topic: Other, Name: Other}, false
	for _, g := range all {
		if len(told) < c.limit && c.groupsSeen(g.Topic) {
			told = append(told, g)
			continue
		}
		more = true
		rest.Lag += g.Lag
		rest.Redelivered += g.Redelivered
		rest.Dead += g.Dead
		rest.Trimmed += g.Trimmed
		rest.Members += g.Members
		rest.InFlight += g.InFlight
	}
	if more {
		told = append(told, rest)
	}
	for _, g := range told {
		to <- gauge(lag, float64(g.Lag), g.Topic, g.Name)
		to <- counter(redelivered, float64(g.Redelivered), g.Topic, g.Name)
		to <- counter(dead, float64(g.Dead), g.Topic, g.Name)
		to <- counter(trimmed, float64(g.Trimmed), g.Topic, g.Name)
		to <- gauge(members, float64(g.Members), g.Topic, g.Name)
		to <- gauge(inFlight, float64(g.InFlight), g.Topic, g.Name)
	}
}

func flag(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

func gauge(d *prometheus.Desc, v float64, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
}

func counter(d *prometheus.Desc, v float64, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(d, prometheus.CounterValue, v, labels...)
}
