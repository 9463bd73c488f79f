package core_test

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"wirelab/hermes"
	"wirelab/hermes/broker"
	"wirelab/hermes/core"
	"wirelab/hermes/record"
	"wirelab/wire/status"
)

// model is what Machine is to do, done as plainly as can be: sets of offsets, lists
// that are searched, nothing kept that can be counted.
type model struct {
	topics    map[uint32]*modelTopic
	groups    map[uint64]*modelGroup
	producers []uint64 // who spoke last comes last
	made      map[uint64]bool
	lastTopic uint32
	raised    bool
}

type modelTopic struct {
	name        string
	first, next uint64
	age         int64
	runs        []modelRun
}

type modelRun struct {
	producer, sequence, offset uint64
	count                      uint32
}

type modelGroup struct {
	topic   uint32
	name    string
	timeout int64
	floor   uint64 // where it began or was set to
	acked   map[uint64]bool
	dead    uint64
	trimmed uint64
	tries   map[uint64][]uint32 // all that were said of an offset since the group was set; not all of them are kept
}

// The bounds of model and machine.
const (
	modelTopics, modelGroups, modelProducers, modelSequences, modelRuns, modelRanges = 4, 4, 3, 5, 3, 4
)

func newModel() *model {
	return &model{
		topics: map[uint32]*modelTopic{1: {name: hermes.DeadLetters}}, groups: map[uint64]*modelGroup{},
		made: map[uint64]bool{}, lastTopic: 1,
	}
}

// expected is an outcome, with the code of its error; noError is none's.
type expected struct {
	code   int
	offset uint64
	dup    bool
}

const noError = -1

func codeOf(err error) int {
	if err == nil {
		return noError
	}
	return int(status.CodeOf(err))
}

func fails(code status.Code) expected { return expected{code: int(code)} }

var fine = expected{code: noError}

func (m *model) named(name string) (uint32, *modelTopic) {
	for id, t := range m.topics {
		if t.name == name {
			return id, t
		}
	}
	return 0, nil
}

func (m *model) spoke(p uint64) {
	m.producers = append(slices.DeleteFunc(m.producers, func(o uint64) bool { return o == p }), p)
}

// forget drops the one silent for longest, with all it did.
func (m *model) forget() {
	p := m.producers[0]
	m.producers = m.producers[1:]
	for _, t := range m.topics {
		t.runs = slices.DeleteFunc(t.runs, func(r modelRun) bool { return r.producer == p })
	}
}

// sequences counts pairs of producer and topic.
func (m *model) sequences() int {
	n := 0
	for _, t := range m.topics {
		seen := map[uint64]bool{}
		for _, r := range t.runs {
			seen[r.producer] = true
		}
		n += len(seen)
	}
	return n
}

func (m *model) run(r record.Run) expected {
	t := m.topics[r.Topic]
	if t == nil {
		return fails(status.NotFound)
	}
	offset := t.next
	if r.Producer != 0 {
		switch {
		case r.Sequence == 0:
			return fails(status.InvalidArgument)
		case !slices.Contains(m.producers, r.Producer):
			return fails(status.NotFound)
		}
		var own []modelRun
		for _, known := range t.runs {
			if known.producer == r.Producer {
				own = append(own, known)
			}
		}
		if n := len(own); n > 0 && r.Sequence != own[n-1].sequence+uint64(own[n-1].count) {
			for _, known := range own[max(0, n-modelRuns):] {
				if known.sequence == r.Sequence && known.count == r.Count {
					m.spoke(r.Producer)
					return expected{code: noError, offset: known.offset, dup: true}
				}
			}
			return fails(status.Conflict)
		}
		m.spoke(r.Producer)
		for len(own) == 0 && m.sequences() >= modelSequences {
			m.forget()
		}
		t.runs = append(t.runs, modelRun{r.Producer, r.Sequence, offset, r.Count})
	}
	t.next += uint64(r.Count)
	return expected{code: noError, offset: offset}
}

func (m *model) createTopic(name string, age int64) expected {
	if strings.Contains(name, " ") || age < 0 {
		return fails(status.InvalidArgument)
	}
	if _, t := m.named(name); t != nil {
		if t.age != age {
			return fails(status.Conflict)
		}
		return fine
	}
	if len(m.topics) >= modelTopics {
		return fails(status.ResourceExhausted)
	}
	m.lastTopic++
	m.topics[m.lastTopic] = &modelTopic{name: name, age: age}
	return fine
}

func (m *model) deleteTopic(id uint32) expected {
	if m.topics[id] == nil {
		return fails(status.NotFound)
	}
	if id == 1 {
		return fails(status.InvalidArgument)
	}
	delete(m.topics, id)
	maps.DeleteFunc(m.groups, func(_ uint64, g *modelGroup) bool { return g.topic == id })
	return fine
}

func (m *model) trim(id uint32, before uint64) expected {
	t := m.topics[id]
	if t == nil {
		return fails(status.NotFound)
	}
	if before > t.next {
		return fails(status.InvalidArgument)
	}
	for _, g := range m.groups {
		if floor, _ := m.shape(g); g.topic == id && m.raised {
			for o := floor; o < before; o++ {
				if !g.acked[o] {
					g.trimmed++
				}
			}
		}
	}
	t.first = max(t.first, before)
	return fine
}

// failed notes tries, as far as they are of messages that the group has not dealt with.
func (m *model) failed(id uint64, r broker.Range, attempts uint32) expected {
	g := m.groups[id]
	if g == nil {
		return fails(status.NotFound)
	}
	for o := r.First; o <= r.Last && m.raised; o++ {
		g.tries[o] = append(g.tries[o], attempts)
	}
	return fine
}

func (m *model) createGroup(topic uint32, name string, timeout int64, floor uint64) (e expected, fresh bool) {
	t := m.topics[topic]
	if t == nil {
		return fails(status.NotFound), false
	}
	for _, g := range m.groups {
		if g.topic == topic && g.name == name {
			if g.timeout != timeout {
				return fails(status.Conflict), false
			}
			return fine, false
		}
	}
	if floor > t.next {
		return fails(status.InvalidArgument), false
	}
	if len(m.groups) >= modelGroups {
		return fails(status.ResourceExhausted), false
	}
	return fine, true
}

// shape is where a group's floor is, and its ranges above it.
func (m *model) shape(g *modelGroup) (floor uint64, ranges []broker.Range) {
	t := m.topics[g.topic]
	for floor = max(g.floor, t.first); g.acked[floor]; floor++ {
	}
	for o := floor; o < t.next; o++ {
		if !g.acked[o] {
			continue
		}
		if n := len(ranges); n > 0 && ranges[n-1].Last+1 == o {
			ranges[n-1].Last = o
		} else {
			ranges = append(ranges, broker.Range{First: o, Last: o})
		}
	}
	return floor, ranges
}

func (m *model) ack(id uint64, ranges []broker.Range, dead uint32) expected {
	g := m.groups[id]
	if g == nil {
		return fails(status.NotFound)
	}
	before := maps.Clone(g.acked)
	_, had := m.shape(g)
	for _, r := range ranges {
		if r.First > r.Last || r.Last >= m.topics[g.topic].next {
			g.acked = before
			return fails(status.InvalidArgument)
		}
		for o := r.First; o <= r.Last; o++ {
			g.acked[o] = true
		}
	}
	if _, has := m.shape(g); dead == 0 && len(has) > modelRanges && len(has) > len(had) {
		g.acked = before
		return fails(status.ResourceExhausted)
	}
	g.dead += uint64(dead)
	return fine
}

func (m *model) seek(id, floor uint64) expected {
	g := m.groups[id]
	if g == nil {
		return fails(status.NotFound)
	}
	if floor > m.topics[g.topic].next {
		return fails(status.InvalidArgument)
	}
	g.floor, g.acked, g.tries = floor, map[uint64]bool{}, map[uint64][]uint32{}
	return fine
}

// step is an item and what the model makes of it.
type step struct {
	says string
	item record.Item
	do   func(m *model, o core.Outcome) expected
}

// fresh takes an id in that must be no other's.
func (m *model) fresh(id uint64) expected {
	if id == 0 || m.made[id] {
		return expected{code: 1000}
	}
	m.made[id] = true
	return fine
}

// differs tells where machine and model disagree.
func (m *model) differs(c *core.Machine) string {
	if n := len(c.Topics("", "", 100)); n != len(m.topics) {
		return fmt.Sprintf("%d topics, want %d", n, len(m.topics))
	}
	for id, t := range m.topics {
		got, ok := c.TopicByID(id)
		if !ok || got.Name != t.name || got.First != t.first || got.Next != t.next || got.RetentionAge != t.age ||
			got.Bytes != 10*(t.next-t.first) {
			return fmt.Sprintf("topic %+v, want %+v", got, t)
		}
	}
	groups := 0
	for _, t := range c.Topics("", "", 100) {
		groups += len(c.Groups(t.Name))
	}
	if groups != len(m.groups) {
		return fmt.Sprintf("%d groups, want %d", groups, len(m.groups))
	}
	for id, g := range m.groups {
		got, ok := c.GroupByID(id)
		floor, ranges := m.shape(g)
		lag := m.topics[g.topic].next - floor
		for _, r := range ranges {
			lag -= r.Last - r.First + 1
		}
		if !ok || got.Name != g.name || got.Floor != floor || !slices.Equal(got.Acked, ranges) || got.Lag != lag ||
			got.Dead != g.dead || got.Trimmed != g.trimmed || got.AckTimeout != g.timeout {
			return fmt.Sprintf("group %+v, want %+v: floor %d, %v, lag %d", got, g, floor, ranges, lag)
		}
		if wrong := g.strange(c.Tries(id), floor, m.topics[g.topic].next); wrong != "" {
			return wrong
		}
	}
	return ""
}

// strange tells what of tries is no one's word, or of messages that are dealt with, or not in order.
func (g *modelGroup) strange(tries []core.Tried, floor, next uint64) string {
	least := floor
	for _, t := range tries {
		if t.First < least || t.Last < t.First || t.Last >= next {
			return fmt.Sprintf("tries %+v, from %d to before %d", tries, floor, next)
		}
		least = t.Last + 1
		for o := t.First; o <= t.Last; o++ {
			if g.acked[o] || !slices.Contains(g.tries[o], t.Attempts) {
				return fmt.Sprintf("tries %+v; of %d there were %v, acknowledged: %v", tries, o, g.tries[o], g.acked[o])
			}
		}
	}
	return ""
}

// Machine and model agree after each entry of a random log. A second machine that is
// now and then replaced by what Restore makes of the first's snapshot has the same
// bytes all the time (hb-D10: snapshots were empty).
func TestModel(t *testing.T) {
	t.Parallel()
	rounds := 60
	if testing.Short() {
		rounds = 10
	}
	seed := rand.Uint64()
	for round := range rounds {
		if !modelRound(t, seed+uint64(round), 250) {
			return
		}
	}
}

func modelRound(t *testing.T, seed uint64, entries int) bool {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 1))
	machine := core.Small(modelTopics, modelGroups, modelProducers, modelSequences, modelRuns, modelRanges)
	copied := core.Small(modelTopics, modelGroups, modelProducers, modelSequences, modelRuns, modelRanges)
	m := newModel()
	var history []string
	fail := func(format string, args ...any) bool {
		t.Errorf("seed %d: %s\nafter:\n%s", seed, fmt.Sprintf(format, args...),
			strings.Join(history[max(0, len(history)-30):], "\n"))
		return false
	}
	for i := range entries {
		var steps []step
		var items []record.Item
		for range 1 + random.IntN(4) {
			s := draw(random, m)
			steps, items = append(steps, s), append(items, s.item)
		}
		data := write(random.Int64N(1e9)+int64(i)*1e8, items)
		out, err := machine.Apply(uint64(i+1), data, nil)
		if err != nil || len(out) != len(items) {
			return fail("%v", err)
		}
		for k, s := range steps {
			history = append(history, s.says)
			want := s.do(m, out[k])
			if got := (expected{codeOf(out[k].Err), out[k].Offset, out[k].Duplicate}); got.code != want.code ||
				want.code == noError && items[k].Command == nil && got != want {
				return fail("%s gave %+v (%v), want %+v", s.says, got, out[k].Err, want)
			}
		}
		if wrong := m.differs(machine); wrong != "" {
			return fail("%s", wrong)
		}
		// A cleaned entry leads to the same state as the whole one.
		for k := range items {
			items[k].Run.Cleaned = true
		}
		if random.IntN(2) == 0 {
			data = write(machine.Time(), items)
		}
		if _, err := copied.Apply(uint64(i+1), data, nil); err != nil {
			return fail("%v", err)
		}
		snapshot := machine.Snapshot()
		if !bytes.Equal(snapshot, copied.Snapshot()) {
			return fail("two machines over one log differ")
		}
		if random.IntN(10) == 0 {
			if copied, err = core.Like(machine, snapshot); err != nil {
				return fail("%v", err)
			}
			if wrong := m.differs(copied); wrong != "" {
				return fail("restored: %s", wrong)
			}
		}
	}
	return true
}
