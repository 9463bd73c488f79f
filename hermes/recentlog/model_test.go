package recentlog

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sort"
	"testing"

	"wirelab/hermes"
	"wirelab/hermes/broker"
	"wirelab/hermes/record"
)

// body is what message number offset of a topic holds; pad makes it longer.
func body(topic uint32, offset uint64, pad int) []byte {
	return fmt.Appendf(nil, "%d/%d/%*d", topic, offset, pad, 0)
}

// disk is a log for tests: what was told to it is what Options.Read finds.
type disk struct {
	topics map[uint32]*stored
	// during runs while Read is under way: when the ring moves on is of no matter.
	during func()
	rng    *rand.Rand
	fail   error
}

type stored struct {
	batches []broker.Batch
	first   uint64 // offsets before were trimmed
	next    uint64
}

func (d *disk) topic(id uint32) *stored {
	if d.topics[id] == nil {
		d.topics[id] = &stored{}
	}
	return d.topics[id]
}

// add makes a run, stores it and returns it.
func (d *disk) add(id uint32, time int64, count, pad int) Run {
	s := d.topic(id)
	var messages []byte
	for i := range count {
		messages = record.AppendMessage(messages, &hermes.Message{Payload: body(id, s.next+uint64(i), pad)})
	}
	r := Run{Topic: id, Offset: s.next, Count: count, Messages: messages}
	s.batches = append(s.batches, broker.Batch{Offset: s.next, Count: count, Time: time, Messages: messages})
	s.next += uint64(count)
	return r
}

// read follows the contract of Options.Read, in one of the ways that it leaves open.
func (d *disk) read(id uint32, offset, before uint64, limit int) ([]broker.Batch, error) {
	if d.during != nil {
		d.during()
	}
	if d.fail != nil {
		return nil, d.fail
	}
	if offset >= before {
		return nil, fmt.Errorf("topic %d: asked for %d to %d", id, offset, before)
	}
	var got []broker.Batch
	for _, b := range d.topic(id).batches {
		if b.Offset >= before || limit <= 0 && len(got) > 0 {
			break
		}
		end := b.Offset + uint64(b.Count)
		if end <= offset || end <= d.topic(id).first {
			continue
		}
		if d.rng != nil && d.rng.IntN(2) == 0 && b.Offset < offset {
			b = from(b, offset)
		}
		limit -= len(b.Messages)
		if limit < 0 && len(got) > 0 {
			break
		}
		got = append(got, b)
	}
	return got, nil
}

// follower checks what one reader gets: every message from where it began, once.
type follower struct {
	*Reader
	topic uint32
	want  uint64
	count int
}

// check holds a batch to what the follower is to get: messages that follow those it
// had, but for what was trimmed.
func (f *follower) check(s *stored, b broker.Batch, limit int) error {
	if b.Offset < f.want {
		return fmt.Errorf("topic %d: got offset %d again, wanted %d", f.topic, b.Offset, f.want)
	}
	if b.Offset > f.want && b.Offset > s.first {
		return fmt.Errorf("topic %d: offsets %d to %d were skipped; trimmed are those before %d", f.topic, f.want,
			b.Offset-1,
			s.first)
	}
	if len(b.Messages) > limit && b.Count > 1 {
		return fmt.Errorf("got %d bytes in %d messages, asked for %d", len(b.Messages), b.Count, limit)
	}
	if err := content(s, f.topic, b); err != nil {
		return err
	}
	f.want = b.Offset + uint64(b.Count)
	f.count += b.Count
	if f.Offset() != f.want {
		return fmt.Errorf("Offset is %d, want %d", f.Offset(), f.want)
	}
	return nil
}

// content holds a batch's messages to those of its offsets.
func content(s *stored, topic uint32, b broker.Batch) error {
	n := 0
	for raw := range record.Messages(b.Messages) {
		var m hermes.Message
		if err := record.ReadMessage(raw, &m); err != nil {
			return err
		}
		var id uint32
		var offset uint64
		if _, err := fmt.Sscanf(string(m.Payload), "%d/%d/", &id, &offset); err != nil {
			return err
		}
		if id != topic || offset != b.Offset+uint64(n) {
			return fmt.Errorf("message %d of the batch at %d of topic %d is %d of topic %d", n, b.Offset, topic,
				offset, id)
		}
		n++
	}
	if n != b.Count || n == 0 {
		return fmt.Errorf("batch says %d messages and has %d", b.Count, n)
	}
	if b.Attempt != 1 {
		return fmt.Errorf("attempt is %d", b.Attempt)
	}
	i := sort.Search(len(s.batches), func(i int) bool { return s.batches[i].Offset > b.Offset }) - 1
	if was := s.batches[i]; was.Time != b.Time {
		return fmt.Errorf("time is %d, want %d", b.Time, was.Time)
	}
	return nil
}

// A reader gets every message once and in order, whatever it asks for and when,
// wherever the bytes are, while the ring moves on also in the middle of a read from
// disk (hb-D03: the origin's switch skipped and repeated). One goroutine, so that a
// seed is a story.
func TestEveryMessageOnce(t *testing.T) {
	t.Parallel()
	seeds := 300
	if testing.Short() {
		seeds = 80
	}
	for seed := range uint64(seeds) {
		if err := story(seed); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

func story(seed uint64) error {
	rng := rand.New(rand.NewPCG(seed, 7))
	d := &disk{topics: map[uint32]*stored{}, rng: rng}
	recent := New(Options{Bytes: 200 + rng.IntN(4000), Read: d.read})
	topics := uint32(1 + rng.IntN(3))
	time := int64(0)
	appendEntry := func() {
		time++
		var runs []Run
		for range 1 + rng.IntN(6) {
			runs = append(runs, d.add(rng.Uint32N(topics), time, 1+rng.IntN(5), 1+rng.IntN(1+rng.IntN(300))))
		}
		recent.Append(time, runs)
	}
	d.during = func() {
		for rng.IntN(3) == 0 {
			appendEntry()
		}
	}
	// What was there before the log began.
	for range rng.IntN(5) {
		d.add(rng.Uint32N(topics), time, 1+rng.IntN(5), 1)
	}
	done, cancel := context.WithCancel(context.Background())
	cancel()
	var followers []*follower
	for range 150 {
		switch rng.IntN(10) {
		case 0, 1:
			appendEntry()
		case 2:
			if len(followers) == 8 {
				i := rng.IntN(8)
				followers[i].Close()
				followers = append(followers[:i], followers[i+1:]...)
				break
			}
			f, err := begin(recent, d, rng, rng.Uint32N(topics))
			if err != nil {
				return err
			}
			followers = append(followers, f)
		case 3:
			if s := d.topic(rng.Uint32N(topics)); rng.IntN(4) == 0 {
				s.first = max(s.first, rng.Uint64N(s.next+1))
			}
		case 4:
			if err := fetched(recent, d, rng, rng.Uint32N(topics)); err != nil {
				return err
			}
		default:
			if len(followers) == 0 {
				break
			}
			f := followers[rng.IntN(len(followers))]
			if err := f.step(done, d, rng); err != nil {
				return err
			}
		}
		if held(recent) > recent.bytesMost {
			return fmt.Errorf("holds %d bytes of %d", held(recent), recent.bytesMost)
		}
		if u := recent.Usage(); u.Bytes != held(recent) || u.Readers != len(followers) {
			return fmt.Errorf("holds %d bytes for %d readers, says %+v", held(recent), len(followers), u)
		}
	}
	return drain(done, d, rng, followers)
}

// begin opens a reader anywhere in a topic, or beyond it.
func begin(recent *Log, d *disk, rng *rand.Rand, topic uint32) (*follower, error) {
	next := d.topic(topic).next
	at := rng.Uint64N(next + 3)
	r, err := recent.Open(topic, at, next, false)
	return &follower{Reader: r, topic: topic, want: at}, err
}

// held measures held messages, from the topics and not from the account.
func held(t *Log) (bytes int) {
	for _, p := range t.topics {
		for i := range p.held.n {
			bytes += len(p.held.at(i).Messages) + batchCost
		}
		for i := range p.pushed.n {
			bytes += len(p.pushed.at(i).Messages) + batchCost
		}
	}
	return bytes
}

// step asks for messages if there are any, else sees that none come. done is a
// context that ended: Next answers it before anything else, so none is lost.
func (f *follower) step(done context.Context, d *disk, rng *rand.Rand) error {
	s := d.topic(f.topic)
	if _, err := f.Next(done, broker.Room{Bytes: 1}); err == nil {
		return fmt.Errorf("a context that ended was not noticed")
	}
	if max(f.want, s.first) >= s.next {
		return nil
	}
	limit := 1 + rng.IntN(1+rng.IntN(2000))
	b, err := f.Next(context.Background(), broker.Room{Bytes: limit})
	if err != nil {
		return err
	}
	return f.check(s, b, limit)
}

// drain reads all to the end.
func drain(done context.Context, d *disk, rng *rand.Rand, followers []*follower) error {
	d.during = nil
	for _, f := range followers {
		s := d.topic(f.topic)
		for max(f.want, s.first) < s.next {
			if err := f.step(done, d, rng); err != nil {
				return err
			}
		}
	}
	return nil
}

// fetched holds Fetch to the model.
func fetched(recent *Log, d *disk, rng *rand.Rand, id uint32) error {
	s := d.topic(id)
	if s.next == 0 {
		return nil
	}
	offset := rng.Uint64N(s.next)
	before := offset + 1 + rng.Uint64N(s.next-offset)
	limit := 1 + rng.IntN(2000)
	got, err := recent.Fetch(nil, id, offset, before, limit)
	if err != nil {
		return err
	}
	bytes, at := 0, offset
	for i, b := range got {
		if b.Offset < at || b.Offset > at && b.Offset > s.first {
			return fmt.Errorf("fetch of %d: got %d, wanted %d", offset, b.Offset, at)
		}
		at = b.Offset + uint64(b.Count)
		if at > before {
			return fmt.Errorf("fetch before %d: got %d", before, at-1)
		}
		if bytes += len(b.Messages); bytes > limit && (i > 0 || b.Count > 1) {
			return fmt.Errorf("fetch of %d bytes gave %d", limit, bytes)
		}
		if err := content(s, id, b); err != nil {
			return err
		}
	}
	if len(got) == 0 && before > s.first {
		return fmt.Errorf("fetch of %d to %d gave nothing; trimmed are those before %d", offset, before, s.first)
	}
	return nil
}
