package delivery

import (
	"container/heap"

	"wirelab/hermes/offsets"
)

// lease is what was handed out together. Its spans are those between first and
// last that are held under it.
type lease struct {
	member      *member
	first, last uint64
	since       int64 // when its time began: it was handed out, or the member settled something of it or got before
	alone       bool  // the member gets nothing next to it
	left        int   // messages still held under it; with none it is gone
	// Of the same member, in the order of handing out, which is that of since.
	earlier, later *lease
}

// unwatched is the place of a member that has nothing.
const unwatched = -1

type member struct {
	id             uint64
	inFlight       int
	held           int   // messages
	settled        int64 // when it last settled something
	oldest, newest *lease
	at             int         // its place in watch
	had            offsets.Set // what it was sent
}

func (m *member) alone() bool { return m.newest != nil && m.newest.alone }

// close ends a lease of which nothing is left.
func (g *Group) close(l *lease) {
	if l == nil || l.left > 0 {
		return
	}
	m := l.member
	if l.earlier != nil {
		l.earlier.later = l.later
	} else {
		m.oldest = l.later
	}
	if l.later != nil {
		// What was settled of this one counts for all that the member got after it.
		l.later.since = max(l.later.since, l.since)
		l.later.earlier = l.earlier
	} else {
		m.newest = l.earlier
	}
	l.earlier, l.later = nil, nil
	if m.oldest == nil && g.clearing == m {
		g.clearing = nil // it gets the lone message if it asks now, and another does if it never asks again
	}
	g.look(m)
}

// look puts a member where its oldest lease belongs.
func (g *Group) look(m *member) {
	switch {
	case m.oldest == nil && m.at != unwatched:
		heap.Remove(&g.watch, m.at)
	case m.oldest != nil && m.at == unwatched:
		heap.Push(&g.watch, m)
	case m.oldest != nil:
		heap.Fix(&g.watch, m.at)
	}
}

// watch is members by when their oldest lease began, as a heap: all have as long from there.
type watch []*member

func (w watch) least() *member {
	if len(w) == 0 {
		return nil
	}
	return w[0]
}

func (w watch) Len() int           { return len(w) }
func (w watch) Less(i, j int) bool { return w[i].oldest.since < w[j].oldest.since }

func (w watch) Swap(i, j int) {
	w[i], w[j] = w[j], w[i]
	w[i].at, w[j].at = i, j
}

// Push implements [heap.Interface].
func (w *watch) Push(m any) {
	m.(*member).at = len(*w) //nolint:forcetypeassert // nothing else is pushed
	*w = append(*w, m.(*member))
}

// Pop implements [heap.Interface].
func (w *watch) Pop() any {
	last := (*w)[len(*w)-1]
	(*w)[len(*w)-1] = nil
	*w = (*w)[:len(*w)-1]
	last.at = unwatched
	return last
}
