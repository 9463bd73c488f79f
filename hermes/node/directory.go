package node

import (
	"slices"
	"sync"
	"sync/atomic"

	"wirelab/hermes"
	"wirelab/hermes/broker"
	"wirelab/hermes/core"
	"wirelab/wire/status"
)

// topic is what callers ask of a topic without asking the loop.
type topic struct {
	id          uint32
	name        string
	first, next atomic.Uint64
	subscribers atomic.Int64
	restoring   atomic.Bool // it takes what a restore brings, and it is not read

	mu      sync.Mutex // guards members
	members []*member  // to be notified of new messages; on the leader
}

// watch notifies a member of new messages, until stop. The recent log could notify it, but does so before next is
// updated: a member that looked in between would miss a message.
func (t *topic) watch(f *member) (stop func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.members = append(t.members, f)
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.members = slices.DeleteFunc(t.members, func(m *member) bool { return m == f })
	}
}

// directory is the topics as the last entry applied left them. The loop changes it;
// any goroutine reads, so that a publish finds its topic without waiting for the loop.
type directory struct {
	mu     sync.RWMutex // guards both maps
	byName map[string]*topic
	byID   map[uint32]*topic
}

func newDirectory() *directory {
	return &directory{byName: map[string]*topic{}, byID: map[uint32]*topic{}}
}

// find is a topic by name; NotFound where this node knows of none.
func (d *directory) find(name string) (*topic, error) {
	d.mu.RLock()
	t := d.byName[name]
	d.mu.RUnlock()
	if t != nil {
		return t, nil
	}
	if err := hermes.CheckTopic(name); err != nil {
		return nil, err
	}
	return nil, status.Errorf(status.NotFound, "topic %q is not there: create it", name)
}

func (d *directory) id(id uint32) *topic {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.byID[id]
}

// advance notifies members of new messages.
func (d *directory) advance(id uint32, next uint64) {
	t := d.id(id)
	if t == nil {
		return
	}
	t.next.Store(next)
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, f := range t.members {
		f.tell()
	}
}

// set takes a topic's state over. The next offset is taken over only from a machine
// that is not ahead of what was told by advance: one that applies several entries at once
// is, while they are notified of one by one. A topic that is new begins at its first offset at least,
// which is not 0 for one that was restored.
func (d *directory) set(s broker.Topic, restoring, next bool) {
	t := d.id(s.ID)
	if t == nil {
		t = &topic{id: s.ID, name: s.Name}
		d.mu.Lock()
		d.byID[s.ID], d.byName[s.Name] = t, t
		d.mu.Unlock()
	}
	// The topic of dead letters is never closed.
	t.restoring.Store(restoring && s.Name != hermes.DeadLetters)
	t.first.Store(s.First)
	if next {
		t.next.Store(s.Next)
	} else if t.next.Load() < s.First {
		t.next.Store(s.First)
	}
}

func (d *directory) remove(id uint32) (name string, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	t := d.byID[id]
	if t == nil {
		return "", false
	}
	delete(d.byID, id)
	if d.byName[t.name] == t {
		delete(d.byName, t.name)
	}
	return t.name, true
}

// reset takes all topics over; gone are those that were there and are no longer.
func (d *directory) reset(m *core.Machine) (gone map[uint32]string) {
	gone = map[uint32]string{}
	d.mu.RLock()
	for id, t := range d.byID {
		gone[id] = t.name
	}
	d.mu.RUnlock()
	for _, s := range m.Topics("", "", hermes.TopicsLimit+1) {
		delete(gone, s.ID)
		_, restoring := m.Restore(s.ID)
		d.set(s, restoring, true)
	}
	for id := range gone {
		d.remove(id)
	}
	return gone
}

// live is what of a topic is kept, for the log's cleaning.
func (d *directory) live(id uint32) (first uint64, ok bool) {
	if t := d.id(id); t != nil {
		return t.first.Load(), true
	}
	return 0, false
}
