package delivery

import "fmt"

// sound checks what must hold of a group's own order after every call.
func sound(g *Group) error {
	var open, inHands, ranges, waits, lone, dooms int
	left := map[*lease]int{}
	has := map[*member]int{}
	covered, last := g.floor, uint64(0)
	for i, block := range g.spans.blocks {
		if len(block) == 0 || len(block) > blockMost {
			return fmt.Errorf("block %d has %d places", i, len(block))
		}
		for _, p := range block {
			s := p.span
			if p.first != s.first || p.due != 0 || s.last < s.first || s.first < g.floor ||
				last > 0 && s.first <= last {
				return fmt.Errorf("span %+v at place %+v, after %d, floor %d", s, p, last, g.floor)
			}
			last = s.last
			if covered == s.first {
				covered = s.last + 1
			}
			if s.open() {
				open += s.size()
			}
			switch s.state {
			case held:
				inHands += s.size()
				left[s.lease] += s.size()
				has[s.lease.member] += s.size()
				if s.first < s.lease.first || s.last > s.lease.last {
					return fmt.Errorf("span %+v is not within its lease", s)
				}
			case waiting:
				if waits++; s.lone() {
					waits--
					lone++
				}
			case doomed:
				dooms++
			case sent, settled:
				ranges++
			}
		}
	}
	if covered < g.fresh {
		return fmt.Errorf("offset %d is before %d and in no span", covered, g.fresh)
	}
	if open != g.open || inHands != g.held || ranges != g.ranges {
		return fmt.Errorf("open %d, held %d, ranges %d; counted %d, %d, %d", g.open, g.held, g.ranges, open, inHands,
			ranges)
	}
	if n := size(&g.waiting); n != waits {
		return fmt.Errorf("%d of %d wait", n, waits)
	}
	if n := size(&g.lone); n != lone {
		return fmt.Errorf("%d of %d wait to be handed out alone", n, lone)
	}
	if n := size(&g.doomed); n != dooms {
		return fmt.Errorf("%d of %d are doomed", n, dooms)
	}
	for id, m := range g.members {
		if has[m] != m.held {
			return fmt.Errorf("member %d has %d, counted %d", id, m.held, has[m])
		}
		delete(has, m)
	}
	if len(has) > 0 {
		return fmt.Errorf("%d members are gone and hold something", len(has))
	}
	return soundLeases(g, left)
}

// soundLeases checks that each member's leases are in a row and are those of the spans, that a lone message is
// alone, and that who has something is watched.
func soundLeases(g *Group, left map[*lease]int) error {
	n, watched := 0, 0
	for id, m := range g.members {
		var earlier *lease
		for l := m.oldest; l != nil; earlier, l = l, l.later {
			n++
			if l.earlier != earlier || l.member != m || l.left != left[l] || l.left == 0 {
				return fmt.Errorf("lease %+v of member %d: counted %d", l, id, left[l])
			}
			if l.alone && m.held != 1 {
				return fmt.Errorf("member %d has %d messages, and one of them alone", id, m.held)
			}
		}
		if m.newest != earlier {
			return fmt.Errorf("the newest lease of member %d is %+v", id, m.newest)
		}
		if m.at != unwatched {
			watched++
		}
		if (m.at != unwatched) != (m.oldest != nil) || m.at != unwatched && g.watch[m.at] != m {
			return fmt.Errorf("member %d is watched at %d", id, m.at)
		}
	}
	if n != len(left) || watched != len(g.watch) {
		return fmt.Errorf("%d leases in rows, %d with spans; %d of %d members are watched", n, len(left), watched,
			len(g.watch))
	}
	for i, m := range g.watch {
		if m.oldest.since < g.watch[(i-1)/2].oldest.since {
			return fmt.Errorf("member %d is watched out of order", m.id)
		}
	}
	return nil
}

func size(s *sorted) (n int) {
	for _, b := range s.blocks {
		n += len(b)
	}
	return n
}
