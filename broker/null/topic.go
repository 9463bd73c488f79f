package null

import (
	"sync"
	"sync/atomic"
)

// waitingLimit is the maximum number of bytes that wait for the reader of a group; messages beyond it are refused.
const waitingLimit = 256 << 20

// topic holds the groups that read messages published under a name.
type topic struct {
	double uint64 // as in Options
	count  atomic.Uint64

	mu     sync.RWMutex // guards groups
	groups map[string]*group
}

// group holds the messages that wait for the reader of a group.
type group struct {
	mu      sync.Mutex // guards all below
	waiting [][]byte
	bytes   int // of them
	reader  *reader
	given   uint64 // messages delivered so far
}

// creditLimit is the maximum number of messages that a reader may be granted in advance.
const creditLimit = 1 << 16

// reader is a consumer with credit for a number of messages.
type reader struct {
	credit int
	// give writes a message, the n-th of its group; the lock of the group is held.
	give func(body []byte, n uint64)
}

// topic returns the topic with that name, creating it if needed.
func (s *Server) topic(name string) *topic {
	s.mu.RLock()
	t, there := s.topics[name]
	s.mu.RUnlock()
	if there {
		return t
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if t, there = s.topics[name]; !there {
		t = &topic{double: s.options.Double, groups: map[string]*group{}}
		s.topics[name] = t
	}
	return t
}

func (s *Server) has(name string) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	_, there := s.topics[name]
	return there
}

func (s *Server) remove(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.topics, name)
}

// group returns the group with that name, creating it if needed.
func (t *topic) group(name string) *group {
	t.mu.Lock()
	defer t.mu.Unlock()
	g, there := t.groups[name]
	if !there {
		g = &group{}
		t.groups[name] = g
	}
	return g
}

// publish passes a message to every group, and reports whether all have room. The topic owns the body from then on.
func (t *topic) publish(body []byte) bool {
	times := 1
	if t.double > 0 && t.count.Add(1)%t.double == 0 {
		times = 2
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	for _, g := range t.groups {
		for range times {
			if !g.put(body) {
				return false
			}
		}
	}
	return true
}

func (g *group) put(body []byte) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.bytes+len(body) > waitingLimit {
		return false
	}
	if g.reader != nil && g.reader.credit > 0 && len(g.waiting) == 0 {
		g.give(body)
		return true
	}
	g.waiting = append(g.waiting, body)
	g.bytes += len(body)
	return true
}

// give delivers a message; the lock is held and there is credit.
func (g *group) give(body []byte) {
	g.reader.credit--
	g.given++
	g.reader.give(body, g.given)
}

// allow grants a reader more messages, and makes it the reader of the group.
func (g *group) allow(r *reader, more int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.reader = r
	r.credit = min(r.credit+more, creditLimit)
	n := 0
	for ; n < len(g.waiting) && r.credit > 0; n++ {
		g.bytes -= len(g.waiting[n])
		g.give(g.waiting[n])
	}
	g.waiting = g.waiting[n:]
}
