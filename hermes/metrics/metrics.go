package metrics

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"wirelab"
	"wirelab/hermes/broker"
	"wirelab/hermes/node"
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
}

// Source is the node that is told of.
type Source interface {
	Stats(ctx context.Context) (node.Stats, error)
	Live() error
	Ready(ctx context.Context) error
}

// Metrics is a node's. All methods are for any goroutine.
type Metrics struct {
	limit      int
	traffic    traffic
	sync       histogram
	commit     histogram
	collectors *prometheus.Registry
}

var _ node.Observer = (*Metrics)(nil)

// New makes the metrics of a node that is opened next, as whose Observer they go.
func New(o Options) *Metrics {
	return &Metrics{
		limit: cmp.Or(o.Topics, Usual), traffic: traffic{topics: map[string]*through{}},
		collectors: prometheus.NewRegistry(),
	}
}

// Synced implements [node.Observer].
func (m *Metrics) Synced(took time.Duration) { m.sync.observe(took, 1) }

// Committed implements [node.Observer].
func (m *Metrics) Committed(took time.Duration, proposals int) { m.commit.observe(took, proposals) }

// Handler serves the metrics of a node in the formats of Prometheus. It is to be made once.
func (m *Metrics) Handler(of Source) http.Handler {
	m.collectors.MustRegister(
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), &collector{m, of},
	)
	return promhttp.HandlerFor(m.collectors, promhttp.HandlerOpts{
		MaxRequestsInFlight: 2, Timeout: 2 * scrapeTime, ErrorHandling: promhttp.HTTPErrorOnError,
	})
}

// collector asks when it is asked.
type collector struct {
	*Metrics
	of Source
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
			to <- counter(refused, float64(n), wirelab.Code(code).String())
		}
	}
	s, err := c.of.Stats(ctx)
	to <- gauge(up, flag(err == nil))
	if err != nil {
		return
	}
	c.node(to, s)
	c.topics(to, s.Topics)
	c.groups(to, s.Groups)
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
		{freeBytes, float64(s.FreeBytes)},
		{full, flag(s.Full)},
		{starved, flag(s.Starved)},
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

// sums are what is told of a topic.
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
	for i := range all {
		t := &all[i]
		if i >= c.limit {
			rest.add(t, c.traffic.find(t.Name))
			continue
		}
		var s sums
		s.add(t, c.traffic.find(t.Name))
		s.tell(to, t.Name)
	}
	rest.tell(to, Other)
}

func (c *collector) groups(to chan<- prometheus.Metric, all []broker.Group) {
	// One that lags is one that somebody looks for.
	slices.SortStableFunc(all, func(a, b broker.Group) int { return cmp.Compare(b.Lag, a.Lag) })
	if len(all) > c.limit {
		rest := broker.Group{Topic: Other, Name: Other}
		for _, g := range all[c.limit:] {
			rest.Lag += g.Lag
			rest.Redelivered += g.Redelivered
			rest.Dead += g.Dead
			rest.Members += g.Members
			rest.InFlight += g.InFlight
		}
		all = append(all[:c.limit:c.limit], rest)
	}
	for _, g := range all {
		to <- gauge(lag, float64(g.Lag), g.Topic, g.Name)
		to <- counter(redelivered, float64(g.Redelivered), g.Topic, g.Name)
		to <- counter(dead, float64(g.Dead), g.Topic, g.Name)
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
