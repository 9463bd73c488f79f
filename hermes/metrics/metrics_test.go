package metrics_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"wirelab/hermes/broker"
	"wirelab/hermes/broker/brokertest"
	"wirelab/hermes/metrics"
	"wirelab/hermes/node"
	"wirelab/wire/status"
)

// source is a node that says what a test wants.
type source struct {
	stats node.Stats
	err   error
}

func (s *source) Stats(context.Context) (node.Stats, error) { return s.stats, s.err }
func (s *source) Live() error                               { return nil }
func (s *source) Ready(context.Context) error               { return s.err }

// scrape reads the metrics as Prometheus does.
func scrape(t *testing.T, ask func(*httptest.ResponseRecorder)) map[string]string {
	t.Helper()
	w := httptest.NewRecorder()
	ask(w)
	text, err := io.ReadAll(w.Body)
	if err != nil || w.Code != 200 {
		t.Fatalf("%d %v: %s", w.Code, err, text)
	}
	problems, err := promlint.New(strings.NewReader(string(text))).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		if strings.HasPrefix(p.Metric, "hermes_") {
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	}
	all := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), " "); ok && name != "#" {
			all[name] = value
		}
	}
	return all
}

// of is a scrape of a node.
func of(t *testing.T, m *metrics.Metrics, s *source) func() map[string]string {
	h := m.Handler(s)
	return func() map[string]string {
		t.Helper()
		return scrape(t, func(w *httptest.ResponseRecorder) {
			h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
		})
	}
}

func hold(t *testing.T, got map[string]string, want map[string]string) {
	t.Helper()
	for name, value := range want {
		if got[name] != value {
			t.Errorf("%s is %q, want %q", name, got[name], value)
		}
	}
}

func publish(t *testing.T, b broker.Broker, topic string) error {
	t.Helper()
	return brokertest.Publish(t.Context(), b, broker.Run{
		Topic: topic, Messages: brokertest.Messages("one", "two"),
		Count: 2,
	}).Err
}

// What goes in and out is counted where it is acknowledged and handed out, once each, and a
// publish that is refused makes no topic.
func TestTraffic(t *testing.T) {
	t.Parallel()
	m := metrics.New(metrics.Options{})
	inner := brokertest.Memory()
	b := m.Wrap(inner)
	if _, err := b.CreateTopic(t.Context(), broker.Topic{Name: "a"}); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(publish(t, b, "a"), publish(t, b, "a")); err != nil {
		t.Fatal(err)
	}
	if err := publish(t, b, "nowhere"); status.CodeOf(err) != status.NotFound {
		t.Fatal(err)
	}
	f, err := b.Subscribe(t.Context(), broker.Start{Topic: "a", From: broker.FromOldest})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for n := 0; n < 4; {
		batch, err := f.Next(t.Context(), broker.Room{Bytes: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		n += batch.Count
	}
	s := &source{stats: node.Stats{Node: 1, Leader: 1, Term: 7, Topics: []broker.Topic{{Name: "a", ID: 1, Next: 4}}}}
	hold(t, of(t, m, s)(), map[string]string{
		`hermes_topic_messages_in_total{topic="a"}`:       "4",
		`hermes_topic_messages_out_total{topic="a"}`:      "4",
		`hermes_topic_bytes_in_total{topic="a"}`:          fmt.Sprint(2 * len(brokertest.Messages("one", "two"))),
		`hermes_topic_bytes_out_total{topic="a"}`:         fmt.Sprint(2 * len(brokertest.Messages("one", "two"))),
		`hermes_refused_messages_total{code="not_found"}`: "2",
		`hermes_topic_messages_in_total{topic="nowhere"}`: "",
		`hermes_topic_messages_in_total{topic=".other"}`:  "0",
		`hermes_raft_term`:                                "7",
		`hermes_raft_is_leader`:                           "1",
		`hermes_topic_stored_messages_total{topic="a"}`:   "4",
		`hermes_up`: "1",
	})
	in, out, failed := m.Total()
	if in != 4 || out != 4 || failed != 2 {
		t.Error(in, out, failed)
	}
	if in, out = m.Topic("a"); in != 4 || out != 4 {
		t.Error(in, out)
	}
}

// However many topics and groups there are, the series are bounded, and nothing is lost to
// the sums: not what a topic had counted that is deleted then.
func TestBounds(t *testing.T) {
	t.Parallel()
	m := metrics.New(metrics.Options{Topics: 3})
	inner := brokertest.Memory()
	b := m.Wrap(inner)
	s := &source{stats: node.Stats{Node: 1, Leader: 1}}
	for i := range 10 {
		name := fmt.Sprint("t", i)
		if _, err := b.CreateTopic(t.Context(), broker.Topic{Name: name}); err != nil {
			t.Fatal(err)
		}
		if err := publish(t, b, name); err != nil {
			t.Fatal(err)
		}
		s.stats.Topics = append(s.stats.Topics, broker.Topic{Name: name, ID: uint32(i + 1), Next: 2})
		s.stats.Groups = append(s.stats.Groups, broker.Group{Topic: name, Name: "g", Lag: uint64(i)})
	}
	scrape := of(t, m, s)
	got := scrape()
	hold(t, got, map[string]string{
		`hermes_topic_messages_in_total{topic="t2"}`:               "2",
		`hermes_topic_messages_in_total{topic="t3"}`:               "",
		`hermes_topic_messages_in_total{topic=".other"}`:           "14",
		`hermes_group_lag_messages{group="g",topic="t9"}`:          "9",
		`hermes_group_lag_messages{group="g",topic="t6"}`:          "",
		`hermes_group_lag_messages{group=".other",topic=".other"}`: "21",
	})
	s.stats.Topics = s.stats.Topics[1:] // the first was deleted
	hold(t, scrape(), map[string]string{
		`hermes_topic_messages_in_total{topic="t0"}`:     "",
		`hermes_topic_messages_in_total{topic="t3"}`:     "2",
		`hermes_topic_messages_in_total{topic=".other"}`: "14", // six topics, and the one that is gone
	})
	s.err = errors.New("it is stopping")
	hold(t, scrape(), map[string]string{"hermes_up": "0", "hermes_ready": "0", "hermes_live": "1"})
}

// A duration counts in its bucket and all above, once each time it is observed.
func TestDurations(t *testing.T) {
	t.Parallel()
	m := metrics.New(metrics.Options{})
	m.Synced(time.Millisecond)
	m.Synced(time.Minute)
	m.Committed(2*time.Millisecond, 100)
	m.Committed(0, 1)
	hold(t, of(t, m, new(source))(), map[string]string{
		`hermes_log_sync_seconds_bucket{le="0.0005"}`: "0",
		`hermes_log_sync_seconds_bucket{le="0.001"}`:  "1",
		`hermes_log_sync_seconds_bucket{le="10"}`:     "1",
		`hermes_log_sync_seconds_bucket{le="+Inf"}`:   "2",
		`hermes_log_sync_seconds_sum`:                 "60.001",
		`hermes_commit_seconds_count`:                 "101",
		`hermes_commit_seconds_bucket{le="0.001"}`:    "1",
		`hermes_commit_seconds_bucket{le="0.0025"}`:   "101",
	})
}

// noop answers at once.
type noop struct{ broker.Broker }

func (noop) Publish(_ context.Context, _ broker.Run, done func(broker.Verdict)) {
	done(broker.Verdict{})
}

// BenchmarkPublish is what counting costs a run, and BenchmarkCommitted a telling.
func BenchmarkPublish(b *testing.B) {
	counted := metrics.New(metrics.Options{}).Wrap(noop{})
	run := broker.Run{Topic: "a", Count: 1}
	done := func(broker.Verdict) {}
	b.ReportAllocs()
	for b.Loop() {
		counted.Publish(b.Context(), run, done)
	}
}

func BenchmarkCommitted(b *testing.B) {
	m := metrics.New(metrics.Options{})
	for b.Loop() {
		m.Committed(2*time.Millisecond, 10)
	}
}

type askerKey struct{}

// Who asks sees the numbers of what he may see, and all else in the sum; the numbers of the node are
// everyone's.
func TestVisible(t *testing.T) {
	t.Parallel()
	m := metrics.New(metrics.Options{Topics: 2, Visible: func(ctx context.Context) (topic, groups func(string) bool) {
		who, _ := ctx.Value(askerKey{}).(string)
		own := func(topic string) bool { return topic == who }
		return func(topic string) bool { return topic == who || topic == "public" }, own
	}})
	b := m.Wrap(brokertest.Memory())
	s := &source{stats: node.Stats{Node: 1, Leader: 1, Term: 7}}
	for i, name := range []string{"secret", "public", "orders"} {
		if _, err := b.CreateTopic(t.Context(), broker.Topic{Name: name}); err != nil {
			t.Fatal(err)
		}
		if err := publish(t, b, name); err != nil {
			t.Fatal(err)
		}
		s.stats.Topics = append(s.stats.Topics, broker.Topic{Name: name, ID: uint32(i + 1), Next: 2})
		s.stats.Groups = append(s.stats.Groups, broker.Group{Topic: name, Name: "merger", Lag: uint64(i + 1)})
	}
	h := m.Handler(s)
	for who, want := range map[string]map[string]string{
		"orders": {
			`hermes_topic_messages_in_total{topic="orders"}`:           "2",
			`hermes_topic_messages_in_total{topic="public"}`:           "2",
			`hermes_topic_messages_in_total{topic="secret"}`:           "",
			`hermes_topic_messages_in_total{topic=".other"}`:           "2",
			`hermes_group_lag_messages{group="merger",topic="orders"}`: "3",
			`hermes_group_lag_messages{group="merger",topic="public"}`: "",
			`hermes_group_lag_messages{group=".other",topic=".other"}`: "3",
			`hermes_raft_term`: "7",
			`hermes_topics`:    "3",
		},
		"stranger": {
			`hermes_topic_messages_in_total{topic="orders"}`:           "",
			`hermes_topic_messages_in_total{topic=".other"}`:           "4",
			`hermes_group_lag_messages{group=".other",topic=".other"}`: "6",
			`hermes_up`: "1",
		},
	} {
		hold(t, scrape(t, func(w *httptest.ResponseRecorder) {
			r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
			h.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), askerKey{}, who)))
		}), want)
	}
}
