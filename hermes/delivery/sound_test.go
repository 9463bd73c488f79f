package delivery

import "fmt"

// sound checks what must hold of a group's own order after every call.
func sound(g *Group) error {
	var open, inHands, ranges, waits, dooms int
	left := map[*lease]int{}
	has := map[*member]int{}
	covered, last := g.floor, uint64(0)
	for i, block := range g.spans.blocks {
		if len(block) == 0 || len(block) > blockMost {
			return fmt.Errorf("block %d has %d places", i, len(block))
		}
		for _, p := range block {
			s := p.span
			if p.first != s.first || p.due != 0 || s.last < s.first || s.first < g.floor || last > 0 && s.first <= last {
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
				waits++
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
		return fmt.Errorf("open %d, held %d, ranges %d; counted %d, %d, %d", g.open, g.held, g.ranges, open, inHands, ranges)
	}
	if n := size(&g.waiting); n != waits {
		return fmt.Errorf("%d of %d wait", n, waits)
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

// soundLeases checks that leases are in a row, rising, and are those of the spans and members.
func soundLeases(g *Group, left map[*lease]int) error {
	n := 0
	var earlier *lease
	for l := g.oldest; l != nil; earlier, l = l, l.later {
		n++
		if l.earlier != earlier || earlier != nil && l.deadline < earlier.deadline {
			return fmt.Errorf("lease %+v is out of order", l)
		}
		if _, ok := l.member.leases[l]; !ok || l.left != left[l] || l.left == 0 {
			return fmt.Errorf("lease %+v: counted %d, its member's %v", l, left[l], ok)
		}
	}
	if g.newest != earlier || n != len(left) {
		return fmt.Errorf("%d leases in a row, %d with spans", n, len(left))
	}
	for _, m := range g.members {
		n -= len(m.leases)
	}
	if n != 0 {
		return fmt.Errorf("members have %d leases too many", -n)
	}
	return nil
}

func size(s *sorted) (n int) {
	for _, b := range s.blocks {
		n += len(b)
	}
	return n
}
