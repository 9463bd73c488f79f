package delivery

import (
	"slices"
	"sort"
)

// blockMost is how many places a block has before it is cut in two: a change moves
// at most that many, and a search looks at few blocks.
const blockMost = 256

// place is where a span stands in an order: by time, then by offset. An order by
// offset alone has the same time everywhere.
type place struct {
	due   int64
	first uint64
	span  *span
}

func (p place) before(q place) bool {
	return p.due < q.due || p.due == q.due && p.first < q.first
}

// sorted is spans in order, in blocks: a slice of all would cost as much for each
// change as there are members' messages, and a map has no order.
type sorted struct {
	blocks [][]place // none is empty
}

// block is the first whose last place is not before p.
func (s *sorted) block(p place) int {
	return sort.Search(len(s.blocks), func(i int) bool {
		b := s.blocks[i]
		return !b[len(b)-1].before(p)
	})
}

// within is the first place of a block that is not before p.
func within(b []place, p place) int {
	return sort.Search(len(b), func(i int) bool { return !b[i].before(p) })
}

func (s *sorted) insert(p place) {
	i := s.block(p)
	if i == len(s.blocks) {
		if i == 0 {
			s.blocks = append(s.blocks, []place{p})
			return
		}
		i--
	}
	b := s.blocks[i]
	b = slices.Insert(b, within(b, p), p)
	s.blocks[i] = b
	if len(b) > blockMost {
		half := len(b) / 2
		s.blocks = slices.Insert(s.blocks, i+1, slices.Clone(b[half:]))
		clear(b[half:])
		s.blocks[i] = b[:half]
	}
}

// remove takes a place away that must be there.
func (s *sorted) remove(p place) {
	i := s.block(p)
	b := s.blocks[i]
	j := within(b, p)
	b = slices.Delete(b, j, j+1)
	if s.blocks[i] = b; len(b) == 0 {
		s.blocks = slices.Delete(s.blocks, i, i+1)
	}
}

// least is the first of all, or nil.
func (s *sorted) least() *span {
	if len(s.blocks) == 0 {
		return nil
	}
	return s.blocks[0][0].span
}

// from is the first span whose place is not before p, or nil.
func (s *sorted) from(p place) *span {
	i := s.block(p)
	if i == len(s.blocks) {
		return nil
	}
	return s.blocks[i][within(s.blocks[i], p)].span
}

// to is the last span whose place is not behind p, or nil.
func (s *sorted) to(p place) *span {
	i := s.block(p)
	if i < len(s.blocks) {
		b := s.blocks[i]
		j := within(b, p)
		if !p.before(b[j]) {
			return b[j].span
		}
		if j > 0 {
			return b[j-1].span
		}
	}
	if i == 0 {
		return nil
	}
	b := s.blocks[i-1]
	return b[len(b)-1].span
}
