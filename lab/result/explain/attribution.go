package explain

import (
	"fmt"
	"slices"
	"strings"

	"wirelab"
	"wirelab/lab/result"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/effect"
	"wirelab/lab/stat"
)

// corner is a pair of arms whose difference is split into shares.
type corner struct {
	from, to int
	where    string
}

// cornersMax bounds the number of differences that are split under each load.
const cornersMax = 16

// corners returns the pairs of arms for two names. For "" they are chosen.
func (f *facts) corners(from, to string) ([]corner, error) {
	pick := func(what, name string, usual func(result.Arm) bool) ([]int, error) {
		having := func(so func(arm int) bool) []int {
			return slices.DeleteFunc(seq(len(f.wires)), func(a int) bool { return !so(a) })
		}
		if name == "" {
			return having(func(a int) bool { return usual(result.ArmOf(f.result, a)) }), nil
		}
		if all := having(func(a int) bool { return f.result.ArmName(a) == name }); len(all) > 0 {
			return all, nil
		}
		if all := having(func(a int) bool { return result.ArmOf(f.result, a).Protocol == name }); len(all) > 0 {
			return all, nil
		}
		known := make([]string, len(f.wires))
		for a := range known {
			known[a] = f.result.ArmName(a)
		}
		return nil, wirelab.UnknownName(what, name, known)
	}
	starts, err := pick("arm to start from", from, func(a result.Arm) bool {
		return !a.Secure && a.Transport == "HTTP/1.1" && framingOf(a) == "HTTP" && a.Encoding == "JSON"
	})
	if err != nil {
		return nil, err
	}
	ends, err := pick("arm to end at", to, func(a result.Arm) bool {
		return !a.Secure && framingOf(a) == "gRPC" && a.Encoding == "Protocol Buffers"
	})
	if err != nil {
		return nil, err
	}
	if len(starts) == 0 {
		starts = f.likeFirst()
	}
	if len(ends) == 0 {
		ends = f.farthest(starts)
	}
	return f.paired(starts, ends)
}

// likeFirst returns the arms that differ from the first only in circumstances.
func (f *facts) likeFirst() []int {
	return slices.DeleteFunc(seq(len(f.wires)), func(a int) bool {
		return slices.ContainsFunc(f.factors, func(x Factor) bool {
			return !slices.Contains(circumstances(), x.Name) && x.Of[a] != x.Of[0]
		})
	})
}

// farthest returns the arms that differ from the first of starts in the most factors. Of equal ones the last is used,
// because plans go from simple to complex.
func (f *facts) farthest(starts []int) []int {
	most, at := 0, -1
	for a := range f.wires {
		n := 0
		for i, level := range f.levels(a) {
			if level != f.levels(starts[0])[i] {
				n++
			}
		}
		if n >= most && n > 0 {
			most, at = n, a
		}
	}
	if at < 0 {
		return nil
	}
	return []int{at}
}

// circumstances are the factors that both arms of a pair share if there are several pairs to choose from.
func circumstances() []string { return []string{ConnectionsOf, DataSet, DriverOf, ServerWork} }

// paired pairs each start with the end under the same circumstances. A single pair may differ in them, since then
// that is the question.
func (f *facts) paired(starts, ends []int) ([]corner, error) {
	if len(starts) == 1 && len(ends) == 1 {
		if slices.Equal(f.levels(starts[0]), f.levels(ends[0])) {
			return nil, wirelab.Errorf(wirelab.InvalidArgument, "%s and %s differ in nothing that could be told apart",
				f.result.ArmName(starts[0]), f.result.ArmName(ends[0]))
		}
		return []corner{{from: starts[0], to: ends[0]}}, nil
	}
	var shared, varied []int
	for _, name := range circumstances() {
		if i := f.index(name); i >= 0 {
			shared = append(shared, i)
		}
	}
	for _, i := range shared {
		if slices.ContainsFunc(starts, func(a int) bool { return f.factors[i].Of[a] != f.factors[i].Of[starts[0]] }) {
			varied = append(varied, i)
		}
	}
	var all []corner
	for _, from := range starts {
		for _, to := range ends {
			same := !slices.ContainsFunc(shared,
				func(i int) bool { return f.factors[i].Of[from] != f.factors[i].Of[to] })
			if !same || len(all) == cornersMax || slices.Equal(f.levels(from), f.levels(to)) {
				continue
			}
			where := make([]int, len(varied))
			for k, i := range varied {
				where[k] = f.factors[i].Of[from]
			}
			all = append(all, corner{from: from, to: to, where: f.describe(varied, where)})
		}
	}
	return all, nil
}

// change is one step from one corner to the other.
type change struct {
	name     string
	from, to string // levels as text
}

// route says how to find the arms between two corners.
type route struct {
	changes []change
	start   []int // levels
	// split reports that transport and framing are two changes, the first two. levelsAt are the levels of the
	// transport factor without both, with the one, with the other, and with both. −1: there is none.
	split    bool
	levelsAt [4]int
	wire     int // index of the transport factor
}

// routeOf computes the changes between two arms.
func (f *facts) routeOf(c corner) route {
	r := route{start: f.levels(c.from), wire: f.index(Transport)}
	end := f.levels(c.to)
	for i, x := range f.factors {
		if r.start[i] == end[i] {
			continue
		}
		a, b := f.wires[c.from], f.wires[c.to]
		if i != r.wire {
			r.changes = append(r.changes, change{name: x.Name, from: x.Levels[r.start[i]], to: x.Levels[end[i]]})
			continue
		}
		switch {
		case a.transport == b.transport && a.framing == b.framing: // only a library differs
			r.changes = append(r.changes, change{name: "library", from: a.String(), to: b.String()})
		case a.transport == b.transport:
			r.changes = append(r.changes, change{name: Framing, from: a.framing, to: b.framing})
		case a.framing == b.framing:
			r.changes = append(r.changes, change{name: Transport, from: a.transport, to: b.transport})
		default:
			r.levelsAt = [4]int{
				r.start[i], f.wireLevel(b.transport, a.framing), f.wireLevel(a.transport, b.framing),
				end[i],
			}
			if r.split = r.levelsAt[1] >= 0 || r.levelsAt[2] >= 0; !r.split {
				r.changes = append(r.changes,
					change{name: Transport + " and " + Framing, from: a.String(), to: b.String()})
				break
			}
			r.changes = append(r.changes, change{name: Transport, from: a.transport, to: b.transport},
				change{name: Framing, from: a.framing, to: b.framing})
		}
	}
	return r
}

// wireLevel is the level of the transport factor with a transport and a framing; −1 if no arm has both.
func (f *facts) wireLevel(transport, framing string) int {
	for a, w := range f.wires {
		if w.transport == transport && w.framing == framing {
			return f.factors[f.index(Transport)].Of[a]
		}
	}
	return -1
}

// at returns the levels after some of a route's changes. It is false if they are impossible together, because the
// framing does not work over the transport.
func (r *route) at(f *facts, end []int, set uint) ([]int, bool) {
	levels := slices.Clone(r.start)
	bit := 0
	for i := range f.factors {
		if r.start[i] == end[i] {
			continue
		}
		if i == r.wire && r.split {
			level := r.levelsAt[set>>bit&3]
			if level < 0 {
				return nil, false
			}
			levels[i] = level
			bit += 2
			continue
		}
		if set>>bit&1 == 1 {
			levels[i] = end[i]
		}
		bit++
	}
	return levels, true
}

// attribute splits the difference between two arms into shares.
func (x *explainer) attribute(c corner, t taken, alpha float64) Attribution {
	found := Attribution{From: c.from, To: c.to, Where: c.where}
	r := x.routeOf(c)
	end := x.levels(c.to)
	can := func(set uint) bool { _, ok := r.at(&x.facts, end, set); return ok }
	cell := func(set uint) int {
		levels, _ := r.at(&x.facts, end, set)
		return slices.IndexFunc(t.arms, func(a int) bool { return slices.Equal(x.levels(a), levels) })
	}
	shares, missing := stat.Orders(len(r.changes), len(t.arms), can, cell)
	if shares == nil {
		found.Why = x.unmeasured(&r, end, missing, t)
		return found
	}
	whole, base := make([]float64, len(t.arms)), cell(0)
	whole[base], whole[cell(uint(1)<<len(r.changes)-1)] = -1, 1
	found.Base = effect.Measure(x.Grid, x.load, t.metric, c.from, alpha)
	found.Total = portion(change{}, t, whole, base, alpha)
	found.Total.Difference = t.difference(whole, alpha)
	found.Total.Points = pointsOf(found.Total.Difference)
	for i, step := range r.changes {
		found.Shares = append(found.Shares, *portion(step, t, shares[i], base, alpha))
	}
	if len(r.changes) == 1 { // the only share is the whole difference, with its interval
		one := *found.Total.Difference
		found.Shares[0].Difference, found.Shares[0].Points = &one, found.Total.Points
	}
	found.Notes = x.inside(&r, c)
	return found
}

// portion estimates a part of a difference, relative to the figure of arm base.
func portion(step change, t taken, part []float64, base int, alpha float64) *Share {
	s := &Share{
		Factor: step.name, LevelFrom: step.from, LevelTo: step.to,
		Difference: effect.NoRatio(t.rounds, stat.ErrInput),
	}
	if e, err := stat.LinearContrast(t.logs, part, base, alpha); err == nil {
		s.Difference = differenceOf(e)
		s.Points = pointsOf(s.Difference)
	}
	if e, err := stat.LogContrast(t.logs, part, alpha); err == nil {
		s.Times = Amount{Known: true, Value: e.Ratio, Low: e.Low, High: e.High}
	}
	if e, err := stat.Amount(t.logs, part, alpha); err == nil {
		s.Amount = Amount{Known: true, Value: e.Value, Low: e.Low, High: e.High}
	}
	return s
}

func pointsOf(d *claim.Difference) Amount {
	if !d.Known {
		return Amount{}
	}
	return Amount{Known: true, Value: d.Ratio - 1, Low: d.Low - 1, High: d.High - 1}
}

// unmeasured says which arms are missing between two corners.
func (x *explainer) unmeasured(r *route, end []int, missing []uint, t taken) string {
	var why []string
	for _, set := range missing {
		levels, _ := r.at(&x.facts, end, set)
		what := "there is no arm with " + x.describe(seq(len(x.factors)), levels)
		for _, left := range t.left {
			if slices.Equal(x.levels(left.Arm), levels) {
				what = x.result().ArmName(left.Arm) + " may not be used: " + left.Why
			}
		}
		why = append(why, what)
	}
	if len(why) == 0 {
		return "no order of changes leads from the one to the other"
	}
	return strings.Join(why, "; ")
}

// inside returns a note if a library changes together with a transport or framing, because within one language
// libraries can differ as much as protocols.
func (x *explainer) inside(r *route, c corner) []string {
	from, to, server := result.ArmOf(x.result(), c.from), result.ArmOf(x.result(), c.to), x.result().ServedBy
	if server(c.from) == server(c.to) && from.Client == to.Client || r.wire < 0 ||
		r.start[r.wire] == x.levels(c.to)[r.wire] {
		return nil
	}
	where := r.changes[0].name
	if r.split {
		where = Transport + " or " + Framing
		for a, w := range x.wires {
			if w.transport == to.Transport && w.framing == framingOf(from) && server(a) == server(c.from) {
				where = Framing
			}
		}
	}
	for _, step := range r.changes {
		if step.name == "library" {
			return nil
		}
	}
	return []string{fmt.Sprintf("the share of %s is also that of another library: %s serves %s, %s serves %s",
		where, server(c.from), x.result().ArmName(c.from), server(c.to), x.result().ArmName(c.to))}
}
