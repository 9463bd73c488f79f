package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"wirelab/internal/prereq"
)

// row is a line of the table of what was not run.
type row struct {
	tests     int
	what, why string
}

// rows are the skipped tests by what they lacked, or by the reason they gave.
func (t *teller) rows(skipped []prereq.Skip, brief bool) (lacked, chosen []row) {
	things, reasons := map[string]*row{}, map[string]*row{}
	add := func(to map[string]*row, key string, r row) {
		if to[key] == nil {
			to[key] = &r
		}
		to[key].tests++
	}
	noted := map[name]bool{}
	for _, s := range skipped {
		if n := (name{s.Package, s.Test}); !noted[n] {
			noted[n] = true
			add(things, s.Thing, row{what: s.Thing, why: s.Why})
		}
	}
	for n, why := range t.reasons {
		switch {
		case noted[n]:
		case brief:
			add(reasons, "", row{what: "left out by -short", why: "make test runs them"})
		default:
			add(reasons, why, row{what: "left out by the test", why: cmp.Or(why, "it gives no reason")})
		}
	}
	return ordered(things), ordered(reasons)
}

func ordered(all map[string]*row) (rows []row) {
	for _, key := range slices.Sorted(maps.Keys(all)) {
		rows = append(rows, *all[key])
	}
	slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(b.tests, a.tests) })
	return rows
}

// widest is how wide a table may be where lines stay.
const widest = 100

func (t *teller) widest() int {
	if t.width > 0 {
		return min(t.width-1, widest)
	}
	return widest
}

// summarise tells in one table what was not run, why, and how it would be.
func (t *teller) summarise(skipped []prereq.Skip, brief bool, lacking []lack) {
	t.mu.Lock()
	defer t.mu.Unlock()
	lacked, chosen := t.rows(skipped, brief)
	if len(lacked)+len(chosen) == 0 {
		return
	}
	t.print("\nNot run (tests, for want of what, and why):\n")
	for _, r := range slices.Concat(lacked, chosen) {
		t.print(fmt.Sprintf("%5d  %-22s %s\n", r.tests, r.what, cut(r.why, t.widest()-30)))
	}
	if len(lacked) > 0 && len(lacking) > 0 {
		t.print("To run them too:\n  " + strings.ReplaceAll(remedy(lacking), ". ", ".\n  ") + "\n")
	}
	t.print("\n")
}

// times are the seconds of each package, the slowest first.
func (t *teller) times() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	names := slices.SortedFunc(maps.Keys(t.elapsed), func(a, b string) int {
		return cmp.Compare(t.elapsed[b], t.elapsed[a])
	})
	var b strings.Builder
	all := 0.0
	for _, n := range names {
		all += t.elapsed[n]
	}
	fmt.Fprintf(&b, "%8.1f all\n", all)
	for _, n := range names {
		fmt.Fprintf(&b, "%8.1f %s\n", t.elapsed[n], folder(n))
	}
	return []byte(b.String())
}

// cut shortens a text to a width.
func cut(text string, width int) string {
	if r := []rune(text); len(r) > width {
		return strings.TrimSpace(string(r[:width-1])) + "…"
	}
	return text
}
