package core

import (
	"wirelab/hermes/gen/command"
	"wirelab/hermes/record"
	"wirelab/wire/status"
)

// producer is a client whose runs are known again.
type producer struct {
	id           uint64
	older, newer *producer // the ring of all, by when they last spoke
	sequences    map[uint32]*sequence

	owner         *owner
	before, after *producer // the ring of the owner's, likewise
}

// sequence is a producer on a topic: its last runs, which follow one another
// without gaps, so that where each begins need not be kept.
type sequence struct {
	topic    *topic
	producer *producer
	next     uint64 // the sequence that is expected
	runs     []stored
	oldest   int // in runs, once it is full and goes round
}

// stored is a run that was.
type stored struct {
	offset uint64
	count  uint32
}

// back is the run that many before the newest.
func (s *sequence) back(i int) stored {
	n := len(s.runs)
	return s.runs[(s.oldest+n-1-i)%n]
}

// remember adds a run, in place of the oldest where there are too many.
func (s *sequence) remember(r stored, limit int) {
	s.next += uint64(r.count)
	if len(s.runs) < limit {
		s.runs = append(s.runs, r)
		return
	}
	s.runs[s.oldest] = r
	s.oldest = (s.oldest + 1) % limit
}

// find tells whether a run is the next one, or one that is stored already and where;
// all else is Conflict.
func (s *sequence) find(r *record.Run) (offset uint64, duplicate bool, err error) {
	if r.Sequence == s.next {
		return 0, false, nil
	}
	if r.Sequence > s.next {
		return 0, false, status.Errorf(status.Conflict,
			"producer %d sent sequence %d on topic %s, where %d is expected: the messages between never came, "+
				"or failed",
			r.Producer, r.Sequence, s.topic.name, s.next)
	}
	begins := s.next
	for i := range s.runs {
		run := s.back(i)
		begins -= uint64(run.count)
		switch {
		case begins > r.Sequence:
			continue
		case begins == r.Sequence && run.count == r.Count:
			return run.offset, true, nil
		}
		return 0, false, status.Errorf(status.Conflict,
			"producer %d sent %d messages from sequence %d on topic %s, where "+
				"%d from sequence %d are stored: a run is published again as it was, and the next is %d",
			r.Producer, r.Count, r.Sequence, s.topic.name, run.count, begins, s.next)
	}
	return 0, false, status.Errorf(status.Conflict, "producer %d sent sequence %d on topic %s, where the last %d runs "+
		"are known again and begin at %d: %d is expected",
		r.Producer, r.Sequence, s.topic.name, len(s.runs), begins, s.next)
}

// sequence is that of a run's producer on its topic; a new one when it has none there,
// which it then begins wherever it likes.
func (m *Machine) sequence(t *topic, r *record.Run) (*sequence, error) {
	if r.Sequence == 0 || r.Sequence > offsetsLimit-uint64(r.Count) {
		return nil, status.Errorf(status.InvalidArgument,
			"producer %d sent sequence %d: sequences count messages from 1",
			r.Producer, r.Sequence)
	}
	if s := t.sequences[r.Producer]; s != nil {
		return s, nil
	}
	p := m.producers[r.Producer]
	if p == nil {
		return nil, status.Errorf(status.NotFound,
			"producer %d was never opened, or was silent for longest while too many "+
				"others spoke: open another", r.Producer)
	}
	// A sequence is never forgotten alone: its producer would begin anew, and what it
	// publishes again would be stored twice. So whole producers go.
	m.spoke(p)
	for m.sequences >= m.limits.sequences {
		q := m.burdened(p)
		if q == p {
			return nil, status.Errorf(status.ResourceExhausted,
				"producer %d is on %d topics, and at most %d pairs of a producer and a topic are allowed",
				p.id, len(p.sequences), m.limits.sequences)
		}
		m.forget(q)
	}
	return m.begin(p, t, r.Sequence), nil
}

// begin makes a producer's sequence on a topic.
func (m *Machine) begin(p *producer, t *topic, next uint64) *sequence {
	s := &sequence{topic: t, producer: p, next: next}
	if p.sequences == nil {
		p.sequences = map[uint32]*sequence{}
	}
	t.sequences[p.id], p.sequences[t.id] = s, s
	m.sequences++
	p.owner.sequences++
	return s
}

// open makes a producer.
func (m *Machine) open(c *command.OpenProducer) (uint64, error) {
	id, err := m.newID()
	if err != nil {
		return 0, err
	}
	name := ""
	if m.level > 0 {
		name = c.GetOwner()
		if o := m.owners[name]; o != nil && c.GetMost() > 0 {
			for o.producers >= int(c.GetMost()) {
				m.forget(o.silent.after)
			}
		}
	}
	for len(m.producers) >= m.limits.producers {
		m.forget(m.quietest())
	}
	m.addProducer(id, m.owned(name))
	return id, nil
}

// addProducer adds one that spoke last.
func (m *Machine) addProducer(id uint64, of *owner) *producer {
	p := &producer{id: id, owner: of}
	m.producers[id] = p
	of.producers++
	p.link(&m.silent)
	return p
}

// forget takes a producer out.
func (m *Machine) forget(p *producer) {
	p.unlink()
	delete(m.producers, p.id)
	m.sequences -= len(p.sequences)
	p.owner.producers--
	p.owner.sequences -= len(p.sequences)
	m.leave(p.owner)
	for _, s := range p.sequences {
		delete(s.topic.sequences, p.id)
	}
}

// spoke makes a producer the one that spoke last.
func (m *Machine) spoke(p *producer) {
	if m.silent.older != p {
		p.unlink()
		p.link(&m.silent)
	}
}

// link puts p into the ring, and its owner's, at their newest ends.
func (p *producer) link(ring *producer) {
	p.older, p.newer = ring.older, ring
	p.older.newer, ring.older = p, p
	own := &p.owner.silent
	p.before, p.after = own.before, own
	p.before.after, own.before = p, p
}

func (p *producer) unlink() {
	p.older.newer, p.newer.older = p.newer, p.older
	p.before.after, p.after.before = p.after, p.before
}
