package core_test

import (
	"bytes"
	"math"
	"reflect"
	"strings"
	"sync"
	"testing"

	"wirelab/hermes"
	"wirelab/hermes/broker"
	"wirelab/hermes/core"
	"wirelab/hermes/record"
	"wirelab/wire/status"
)

func TestNew(t *testing.T) {
	t.Parallel()
	m := core.New()
	dlq, ok := m.TopicByID(1)
	if !ok || dlq.Name != hermes.DeadLetters || m.Applied() != 0 || m.Time() != 0 || len(m.Topics("", "", 10)) != 1 {
		t.Errorf("%+v", dlq)
	}
}

// Offsets are the log's: one order, no matter who wrote it and whenever (hb-D08, hb-D09).
func TestOffsets(t *testing.T) {
	t.Parallel()
	j, topic := begin(t)
	out := j.entry(5e9, run(topic, 0, 0, 3), run(1, 0, 0, 2), run(topic, 0, 7, 4))
	for i, want := range []uint64{0, 0, 3} {
		if out[i].Offset != want || out[i].Err != nil || out[i].Duplicate {
			t.Errorf("run %d: %+v", i, out[i])
		}
	}
	got, _ := j.m.Topic("t")
	want := broker.Topic{Name: "t", ID: topic, Next: 7, Bytes: 70, Created: 1e9}
	if got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	j.refused(run(99, 0, 0, 1), status.NotFound, "topic 99")
}

// Time does not fall within the log, whatever clock the next leader has.
func TestTime(t *testing.T) {
	t.Parallel()
	j, _ := begin(t)
	j.entry(100e9)
	if o := j.entry(50e9, does(core.CreateTopic(broker.Topic{Name: "later"})))[0]; o.Err != nil || j.m.Time() != 100e9 {
		t.Errorf("%v, time %d", o.Err, j.m.Time())
	}
	if got, _ := j.m.Topic("later"); got.Created != 100e9 {
		t.Errorf("created at %d", got.Created)
	}
}

// An entry is applied once (hb-D12) and none is left out; what cannot be read stops the node (hb-D11).
func TestApplyRefuses(t *testing.T) {
	t.Parallel()
	later := []byte{0xf2, 0x07, 0x00} // field 126 of Command
	for _, c := range []struct {
		name  string
		index uint64
		data  []byte
		code  status.Code
	}{
		{"the same entry again", 1, nil, status.Internal},
		{"the one after the next", 3, nil, status.Internal},
		{"a later form", 2, []byte{9}, status.Unimplemented},
		{"a broken item", 2, []byte{1, 0, 9}, status.Internal},
		{"a command that is none", 2, write(0, []record.Item{does([]byte{0xff})}), status.Internal},
		{"a command of nothing", 2, write(0, []record.Item{does([]byte{})}), status.Unimplemented},
		{"a later command", 2, write(0, []record.Item{does(later)}), status.Unimplemented},
	} {
		m := core.New()
		if out, err := m.Apply(1, nil, nil); err != nil || len(out) != 0 {
			t.Fatalf("an entry without data: %v %v", out, err)
		}
		if _, err := m.Apply(c.index, c.data, nil); err == nil || status.CodeOf(err) != c.code {
			t.Errorf("%s: %v, want %v", c.name, err, c.code)
		}
	}
}

func TestTopics(t *testing.T) {
	t.Parallel()
	j, topic := begin(t)
	kept := broker.Topic{Name: "kept", RetentionAge: 5, RetentionBytes: 6}
	id := j.done(does(core.CreateTopic(kept))).Topic
	if again := j.done(does(core.CreateTopic(kept))).Topic; again != id {
		t.Errorf("made again it is %d, not %d", again, id)
	}
	j.refused(does(core.CreateTopic(broker.Topic{Name: "kept"})), status.Conflict, "kept")
	// hb-D27: names were unchecked, and a NUL read across topics.
	for _, name := range []string{"", "a\x00b", "a b", ".a", "ä", "\xff", strings.Repeat("n", hermes.NameLimit+1)} {
		j.refused(does(core.CreateTopic(broker.Topic{Name: name})), status.InvalidArgument, "topic")
	}
	j.refused(does(core.CreateTopic(broker.Topic{Name: "x", RetentionAge: -1})), status.InvalidArgument, "negative")
	j.refused(does(core.ConfigureTopic(broker.Topic{Name: "x"})), status.NotFound, "x")
	j.refused(does(core.ConfigureTopic(broker.Topic{Name: "t", RetentionAge: -1})), status.InvalidArgument, "negative")
	j.refused(does(core.DeleteTopic(1)), status.InvalidArgument, "dead letters")
	j.refused(does(core.DeleteTopic(99)), status.NotFound, "99")

	if o := j.done(does(core.ConfigureTopic(broker.Topic{Name: "kept", RetentionAge: 9}))); o.Topic != id {
		t.Errorf("%+v", o)
	}
	if got, _ := j.m.TopicByID(id); got.RetentionAge != 9 || got.RetentionBytes != 0 {
		t.Errorf("%+v", got)
	}
	j.done(does(core.DeleteTopic(topic)))
	if _, ok := j.m.Topic("t"); ok {
		t.Error("it is still there")
	}
	j.refused(run(topic, 0, 0, 1), status.NotFound, "topic")
	// Ids are never used twice: what lies in the log is not another topic's.
	if again := j.done(does(core.CreateTopic(broker.Topic{Name: "t"}))).Topic; again <= id {
		t.Errorf("id %d is used again", again)
	}
	if got, _ := j.m.Topic("t"); got.Next != 0 {
		t.Errorf("the new topic begins at %d", got.Next)
	}
}

func TestListTopics(t *testing.T) {
	t.Parallel()
	j := journal{t, core.New()}
	for _, name := range []string{"b2", "a", "b1", "c", "b10"} {
		j.done(does(core.CreateTopic(broker.Topic{Name: name})))
	}
	for _, c := range []struct {
		prefix, after string
		limit         int
		want          string
	}{
		{"", "", 10, "a b1 b10 b2 c hermes.dlq"},
		{"", "", 2, "a b1"},
		{"", "b1", 2, "b10 b2"},
		{"b", "", 10, "b1 b10 b2"},
		{"b", "b1", 10, "b10 b2"},
		{"b1", "a", 10, "b1 b10"},
		{"b1", "b1", 10, "b10"},
		{"b", "b15", 10, "b2"},
		{"b", "c", 10, ""},
		{"z", "", 10, ""},
		{"", "", 0, ""},
	} {
		var got []string
		for _, topic := range j.m.Topics(c.prefix, c.after, c.limit) {
			got = append(got, topic.Name)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("prefix %q after %q limit %d: %v, want %s", c.prefix, c.after, c.limit, got, c.want)
		}
	}
}

func TestProducers(t *testing.T) {
	t.Parallel()
	j, topic := begin(t)
	p := j.done(does(core.OpenProducer(core.Owner{}))).Producer
	other := j.done(does(core.OpenProducer(core.Owner{}))).Producer
	if p == 0 || p == other {
		t.Fatalf("producers %d and %d", p, other)
	}
	j.refused(run(topic, 12345, 1, 1), status.NotFound, "producer 12345")
	j.refused(run(topic, p, 0, 1), status.InvalidArgument, "from 1")
	j.refused(run(topic, p, math.MaxUint64, 1), status.InvalidArgument, "from 1")

	if o := j.done(run(topic, p, 40, 3)); o.Offset != 0 || o.Duplicate { // the first is any
		t.Errorf("%+v", o)
	}
	if o := j.done(run(topic, p, 43, 2)); o.Offset != 3 {
		t.Errorf("%+v", o)
	}
	// Published again, it is stored once and answered with the offset it has.
	for range 2 {
		for _, c := range []struct {
			sequence uint64
			count    uint32
			offset   uint64
		}{{40, 3, 0}, {43, 2, 3}} {
			if o := j.done(run(topic, p, c.sequence, c.count)); o.Offset != c.offset || !o.Duplicate {
				t.Errorf("%+v: %+v", c, o)
			}
		}
	}
	j.refused(run(topic, p, 46, 1), status.Conflict, "where 45 is expected")
	j.refused(run(topic, p, 43, 3), status.Conflict, "where 2 from sequence 43 are stored")
	j.refused(run(topic, p, 41, 2), status.Conflict, "where 3 from sequence 40 are stored")
	j.refused(run(topic, p, 39, 1), status.Conflict, "begin at 40: 45 is expected")

	// Another topic, and another producer, count for themselves.
	if o := j.done(run(1, p, 1, 1)); o.Offset != 0 || o.Duplicate {
		t.Errorf("%+v", o)
	}
	if o := j.done(run(topic, other, 43, 2)); o.Offset != 5 || o.Duplicate {
		t.Errorf("%+v", o)
	}
	// In one entry too.
	out := j.entry(9e9, run(topic, p, 45, 1), run(topic, p, 46, 1), run(topic, p, 45, 1))
	if out[0].Duplicate || out[1].Duplicate || !out[2].Duplicate || out[2].Offset != out[0].Offset ||
		out[1].Offset != 8 {
		t.Errorf("%+v", out)
	}
}

// A producer's last runs are known again, and no more.
func TestProducerRuns(t *testing.T) {
	t.Parallel()
	j, topic := begin(t)
	p := j.done(does(core.OpenProducer(core.Owner{}))).Producer
	for i := range uint64(hermes.ProducerRuns + 5) {
		j.done(run(topic, p, 1+2*i, 2))
	}
	for i := range uint64(hermes.ProducerRuns + 5) {
		if i < 5 {
			j.refused(run(topic, p, 1+2*i, 2), status.Conflict, "begin at 11: 139 is expected")
		} else if o := j.done(run(topic, p, 1+2*i, 2)); !o.Duplicate || o.Offset != 2*i {
			t.Errorf("run %d: %+v", i, o)
		}
	}
}

// Who was silent for longest goes first; a producer that goes, goes whole, so that it
// never begins anew with what it had published.
func TestProducerLimits(t *testing.T) {
	t.Parallel()
	j := journal{t, core.Small(10, 10, 3, 4, 2, 5)}
	var p [5]uint64
	for i := range 3 {
		p[i] = j.done(does(core.OpenProducer(core.Owner{}))).Producer
	}
	j.done(run(1, p[0], 1, 1))
	p[3] = j.done(does(core.OpenProducer(core.Owner{}))).Producer // p[1] goes
	j.refused(run(1, p[1], 1, 1), status.NotFound, "producer")
	var topics []uint32
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		topics = append(topics, j.done(does(core.CreateTopic(broker.Topic{Name: name}))).Topic)
	}
	for _, topic := range topics[:3] {
		j.done(run(topic, p[3], 1, 1))
	}
	j.done(run(1, p[0], 2, 1)) // a fourth sequence is there; p[2] has none
	j.done(run(topics[3], p[3], 1, 1))
	j.refused(run(1, p[2], 1, 1), status.NotFound, "producer")
	j.refused(run(1, p[0], 3, 1), status.NotFound, "producer")
	// Alone it cannot have more than all. That it spoke is all that it changed.
	j.refused(run(topics[4], p[3], 1, 1), status.ResourceExhausted, "4 topics")
	j.done(does(core.DeleteTopic(topics[0])))
	j.done(run(topics[4], p[3], 1, 1))
}

// One entry makes so many ids and no more, so that ids stay unique (hb-D13).
func TestIDsAreUnique(t *testing.T) {
	t.Parallel()
	j, _ := begin(t)
	items := make([]record.Item, 4097)
	for i := range items {
		items[i] = does(core.OpenProducer(core.Owner{}))
	}
	seen := map[uint64]bool{}
	for range 2 {
		out := j.entry(0, items...)
		for i, o := range out[:4096] {
			if o.Err != nil || seen[o.Producer] {
				t.Fatalf("%d: %+v", i, o)
			}
			seen[o.Producer] = true
		}
		if last := out[4096]; last.Err == nil || status.CodeOf(last.Err) != status.ResourceExhausted {
			t.Errorf("%+v", last)
		}
	}
}

// Everything that grows is bounded (hb-D26).
func TestLimits(t *testing.T) {
	t.Parallel()
	j := journal{t, core.Small(3, 2, 3, 4, 2, 2)}
	topic := j.done(does(core.CreateTopic(broker.Topic{Name: "a"}))).Topic
	j.done(does(core.CreateTopic(broker.Topic{Name: "b"})))
	j.refused(does(core.CreateTopic(broker.Topic{Name: "c"})), status.ResourceExhausted, "3 topics")
	g := j.done(does(core.CreateGroup(topic, broker.Group{Name: "g"}, 0, core.Owner{}))).Group
	j.done(does(core.CreateGroup(topic, broker.Group{Name: "h"}, 0, core.Owner{})))
	j.refused(does(core.CreateGroup(topic, broker.Group{Name: "i"}, 0, core.Owner{})), status.ResourceExhausted,
		"2 groups")
	j.done(run(topic, 0, 0, 20))
	j.done(does(core.Ack(g, 0, []broker.Range{{First: 2, Last: 2}, {First: 4, Last: 4}}, 0)))
	j.refused(does(core.Ack(g, 0, []broker.Range{{First: 6, Last: 6}}, 0)), status.ResourceExhausted,
		"2 separate ranges")
	j.done(does(core.Ack(g, 0, []broker.Range{{First: 4, Last: 6}}, 0))) // joins
	// The floor takes one.
	j.done(does(core.Ack(g, 0, []broker.Range{{First: 0, Last: 0}, {First: 8, Last: 8}, {First: 1, Last: 1}}, 0)))
	// The dead letter is stored.
	j.done(does(core.Ack(g, 0, []broker.Range{{First: 10, Last: 10}}, 1)))
	want := broker.Group{
		Topic: "a", Name: "g", AckTimeout: int64(hermes.AckTimeout), MaxAttempts: hermes.MaxAttempts,
		Floor: 3, Acked: []broker.Range{{First: 4, Last: 6}, {First: 8, Last: 8}, {First: 10, Last: 10}}, Lag: 12,
		Dead: 1,
	}
	if got, _ := j.m.GroupByID(g); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// A gap is never skipped (hb-D01), and nothing counts as dealt with because it was
// handed out (hb-D02).
func TestGroups(t *testing.T) {
	t.Parallel()
	j, topic := begin(t)
	j.done(run(topic, 0, 0, 10))
	made := j.done(does(core.CreateGroup(topic, broker.Group{Name: "g", AckTimeout: 5, MaxAttempts: 2}, 3,
		core.Owner{})))
	g := made.Group
	if made.Topic != topic || g == 0 {
		t.Fatalf("%+v", made)
	}
	if again := j.done(does(core.CreateGroup(topic, broker.Group{Name: "g", AckTimeout: 5, MaxAttempts: 2}, 7,
		core.Owner{}))).Group; again != g {
		t.Errorf("made again it is %d", again)
	}
	j.refused(does(core.CreateGroup(topic, broker.Group{Name: "g"}, 3, core.Owner{})), status.Conflict, "g")
	j.refused(does(core.CreateGroup(topic, broker.Group{Name: "h", AckTimeout: -5}, 3, core.Owner{})),
		status.InvalidArgument, "positive")
	j.refused(does(core.CreateGroup(topic, broker.Group{Name: "h"}, 11, core.Owner{})), status.InvalidArgument, "11")
	j.refused(does(core.CreateGroup(99, broker.Group{Name: "h"}, 0, core.Owner{})), status.NotFound, "99")
	j.refused(does(core.CreateGroup(topic, broker.Group{Name: "\xff"}, 0, core.Owner{})), status.InvalidArgument,
		"group")
	j.refused(does(core.ConfigureTopic(broker.Topic{Name: "\xff"})), status.NotFound, "topic")
	j.refused(does(core.CreateGroup(topic, broker.Group{Name: hermes.Replay}, 0, core.Owner{})), status.InvalidArgument,
		hermes.Replay)
	for _, c := range []struct {
		ranges []broker.Range
		floor  uint64
		acked  []broker.Range
		lag    uint64
	}{
		{nil, 3, nil, 7},
		{[]broker.Range{{First: 5, Last: 5}}, 3, []broker.Range{{First: 5, Last: 5}}, 6},
		// Again, and what it is past.
		{[]broker.Range{{First: 5, Last: 5}, {First: 0, Last: 2}}, 3, []broker.Range{{First: 5, Last: 5}}, 6},
		{[]broker.Range{{First: 8, Last: 9}}, 3, []broker.Range{{First: 5, Last: 5}, {First: 8, Last: 9}}, 4},
		{[]broker.Range{{First: 1, Last: 3}}, 4, []broker.Range{{First: 5, Last: 5}, {First: 8, Last: 9}}, 3},
		{[]broker.Range{{First: 7, Last: 7}, {First: 6, Last: 6}}, 4, []broker.Range{{First: 5, Last: 9}}, 1},
		{[]broker.Range{{First: 4, Last: 4}}, 10, nil, 0},
	} {
		j.done(does(core.Ack(g, 0, c.ranges, 0)))
		got, _ := j.m.GroupByID(g)
		want := broker.Group{
			Topic: "t", Name: "g", AckTimeout: 5, MaxAttempts: 2, Floor: c.floor, Acked: c.acked,
			Lag: c.lag,
		}
		if len(got.Acked) == 0 {
			got.Acked = nil
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%v: %+v, want %+v", c.ranges, got, want)
		}
	}
	j.refused(does(core.Ack(g, 0, []broker.Range{{First: 10, Last: 10}}, 0)), status.InvalidArgument, "before 10")
	j.refused(does(core.Ack(g, 0, []broker.Range{{First: 2, Last: 1}}, 0)), status.InvalidArgument, "2 to 1")
	j.refused(does(core.Ack(g, 0, []broker.Range{{First: 0, Last: math.MaxUint64}}, 0)), status.InvalidArgument,
		"before 10")
	j.refused(does(core.Ack(99, 0, nil, 0)), status.NotFound, "group 99")

	if o := j.done(does(core.SeekGroup(g, 4))); o.Topic != topic {
		t.Errorf("%+v", o)
	}
	if id, got, ok := j.m.Group("t", "g"); !ok || id != g || got.Floor != 4 || got.Lag != 6 {
		t.Errorf("%+v", got)
	}
	// What was handed out before a seek is not acknowledged after it.
	if at := j.m.Generation(g); at != 2 || j.m.Generation(99) != 0 {
		t.Errorf("generation %d after a seek", at)
	}
	j.refused(does(core.Ack(g, 1, []broker.Range{{First: 4, Last: 5}}, 0)), status.Conflict, "since")
	if _, got, _ := j.m.Group("t", "g"); got.Floor != 4 || len(got.Acked) > 0 {
		t.Errorf("%+v", got)
	}
	j.done(does(core.Ack(g, 2, []broker.Range{{First: 5, Last: 5}}, 0)))
	j.refused(does(core.SeekGroup(g, 11)), status.InvalidArgument, "11")
	j.refused(does(core.SeekGroup(99, 1)), status.NotFound, "99")
	j.done(does(core.DeleteGroup(g)))
	j.refused(does(core.DeleteGroup(g)), status.NotFound, "group")
	if _, _, ok := j.m.Group("t", "g"); ok || len(j.m.Groups("t")) != 0 {
		t.Error("it is still there")
	}
	// A group goes with its topic.
	g = j.done(does(core.CreateGroup(topic, broker.Group{Name: "g"}, 0, core.Owner{}))).Group
	j.done(does(core.DeleteTopic(topic)))
	j.refused(does(core.Ack(g, 0, nil, 0)), status.NotFound, "group")
}

// A dead letter and its acknowledgement are one entry (hb-D19).
func TestDeadLetter(t *testing.T) {
	t.Parallel()
	j, topic := begin(t)
	j.done(run(topic, 0, 0, 3))
	g := j.done(does(core.CreateGroup(topic, broker.Group{Name: "g"}, 0, core.Owner{}))).Group
	j.entry(9e9, run(1, 0, 0, 1), does(core.Ack(g, 0, []broker.Range{{First: 1, Last: 1}}, 1)))
	got, _ := j.m.GroupByID(g)
	dlq, _ := j.m.Topic(hermes.DeadLetters)
	if got.Dead != 1 || got.Floor != 0 || len(got.Acked) != 1 || got.Lag != 2 || dlq.Next != 1 {
		t.Errorf("%+v %+v", got, dlq)
	}
}

// Trimmed messages are gone for groups too, and its offsets stay unused.
func TestTrim(t *testing.T) {
	t.Parallel()
	j, topic := begin(t)
	j.done(run(topic, 0, 0, 10))
	behind := j.done(does(core.CreateGroup(topic, broker.Group{Name: "behind"}, 0, core.Owner{}))).Group
	ahead := j.done(does(core.CreateGroup(topic, broker.Group{Name: "ahead"}, 9, core.Owner{}))).Group
	j.done(does(core.Ack(behind, 0, []broker.Range{{First: 2, Last: 2}, {First: 5, Last: 6}}, 0)))
	j.refused(does(core.Trim(topic, 11)), status.InvalidArgument, "11")
	j.refused(does(core.Trim(99, 1)), status.NotFound, "99")
	for _, c := range []struct{ before, first, floor, bytes uint64 }{
		{0, 0, 0, 100},
		{1, 1, 1, 90},
		{1, 1, 1, 90},
		{2, 2, 3, 80},
		{4, 4, 4, 60},
		{5, 5, 7, 50},
		{3, 5, 7, 50},
		{10, 10, 10, 0},
	} {
		j.done(does(core.Trim(topic, c.before)))
		top, _ := j.m.Topic("t")
		b, _ := j.m.GroupByID(behind)
		a, _ := j.m.GroupByID(ahead)
		if top.First != c.first || top.Next != 10 || top.Bytes != c.bytes || b.Floor != c.floor ||
			a.Floor != max(9, c.first) {
			t.Errorf("before %d: %+v, floors %d and %d", c.before, top, b.Floor, a.Floor)
		}
	}
	if o := j.done(run(topic, 0, 0, 1)); o.Offset != 10 {
		t.Errorf("%+v", o)
	}
	// A group made behind the first offset begins there.
	late := j.done(does(core.CreateGroup(topic, broker.Group{Name: "late"}, 2, core.Owner{}))).Group
	if got, _ := j.m.GroupByID(late); got.Floor != 10 || got.Lag != 1 {
		t.Errorf("%+v", got)
	}
}

// Reads change nothing: the race detector sees many of them at once.
func TestReadsInParallel(t *testing.T) {
	t.Parallel()
	m := full(t)
	before := m.Snapshot()
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for range 20 {
				id, g, _ := m.Group("t", "g")
				topic, _ := m.Topic("t")
				_, _ = m.GroupByID(id)
				_, _ = m.TopicByID(topic.ID)
				_, _ = m.Surplus(topic.ID)
				_, _, _ = m.Topics("", "a", 9), m.Groups("t"), m.Snapshot()
				g.Acked[0] = broker.Range{} // what a read returned is the caller's
			}
		})
	}
	readers.Wait()
	if !bytes.Equal(before, m.Snapshot()) {
		t.Error("reading changed the state")
	}
}
