package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"wirelab"
	"wirelab/lab/kind/kinds"
	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/analyse"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/effect"
	"wirelab/lab/result/grid"
	"wirelab/lab/result/metric"
	"wirelab/lab/result/words"
	"wirelab/lab/stat"
)

// Of says which factors distinguish the arms of a result, and splits the difference between two of them into shares.
// Like [analyse.Result] it is pure. If the arms of a result do not separate one factor from another, the error is
// InvalidArgument and names the missing arms.
func Of(r *result.Result) (*Explanation, error) {
	a := analyse.Result(r)
	return Between(r, &a, "", "")
}

// Between is [Of] for callers that already have r's analysis and may choose the corners: the arms, by name or
// protocol, between which the difference is split. Empty corners are those of the plan, or else chosen: plain
// HTTP/1.1 with JSON and plain gRPC with Protocol Buffers, if there are such arms. If several arms have the protocol,
// each is paired with the arm of the other corner that shares its connections, data and driver. A name that no arm
// has is InvalidArgument.
func Between(r *result.Result, a *claim.Analysis, from, to string) (*Explanation, error) {
	g := grid.NewGrid(r)
	f := factsOf(r, g.Arms())
	if len(f.factors) == 0 {
		return nil, wirelab.Errorf(wirelab.InvalidArgument,
			"there is nothing to explain: the arms do not differ in transport, encoding, TLS, connections, data "+
				"or driver")
	}
	from, to = cmp.Or(from, r.Plan.Explain.From), cmp.Or(to, r.Plan.Explain.To)
	e := &Explanation{Factors: f.factors, From: from, To: to, Loads: []LoadExplanation{}}
	corners, err := f.corners(from, to)
	if err != nil {
		return nil, err
	}
	if missing := f.missing(g.Arms()); missing != "" {
		return nil, wirelab.Errorf(wirelab.InvalidArgument, "%s", missing)
	}
	for l := range a.Loads {
		x := explainer{Grid: g, facts: f, load: &a.Loads[l], corners: corners, terms: map[string]known{}}
		e.Loads = append(e.Loads, x.explain())
	}
	return e, nil
}

// missing says which arms would be needed if no factor can be separated from the others; "" if one can.
func (f *facts) missing(arms int) string {
	d, _ := f.design(seq(arms))
	terms, err := d.design.Terms()
	if err != nil {
		return "there is nothing to explain: " + err.Error()
	}
	for _, t := range terms {
		if len(t.Factors) == 1 && t.Weights != nil {
			return ""
		}
	}
	names := make([]string, len(f.factors))
	for i, x := range f.factors {
		names[i] = x.Name
	}
	// From the first arm to the first that differs, changing one factor at a time.
	first, last := f.levels(0), f.levels(0)
	for a := range arms {
		if levels := f.levels(a); !slices.Equal(levels, first) {
			last = levels
			break
		}
	}
	var needed []string
	for i := range f.factors {
		if first[i] == last[i] {
			continue
		}
		step := slices.Clone(first)
		step[i] = last[i]
		needed = append(needed, f.describe(seq(len(f.factors)), step))
	}
	return fmt.Sprintf("the arms differ in %s only together, so that nothing tells which of them makes a difference; "+
		"an arm is missing that differs from %s in one of them: %s. wirelab explain WORKLOAD.OPERATION runs "+
		"all of them",
		words.And(names), f.result.ArmName(0), strings.Join(needed, "; or "))
}

func seq(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// designed is a design of some of the arms, with the indices of its factors and levels in the result.
type designed struct {
	design  stat.Design
	factors []int   // index of each in facts.factors
	levels  [][]int // of each factor, index of each level
}

// design returns the design of some arms. Factors and levels that none of them has are left out. single has the
// factors with only one level.
func (f *facts) design(arms []int) (d designed, single []int) {
	for i, x := range f.factors {
		var present []int
		for level := range x.Levels {
			if slices.ContainsFunc(arms, func(a int) bool { return x.Of[a] == level }) {
				present = append(present, level)
			}
		}
		if len(present) < 2 {
			single = append(single, i)
			continue
		}
		d.factors = append(d.factors, i)
		d.levels = append(d.levels, present)
		d.design.Levels = append(d.design.Levels, len(present))
	}
	for _, a := range arms {
		var cell []int
		for n, i := range d.factors {
			cell = append(cell, slices.Index(d.levels[n], f.factors[i].Of[a]))
		}
		d.design.Cells = append(d.design.Cells, cell)
	}
	return d, single
}

// explainer explains one load.
type explainer struct { // by the arms used: most metrics use the same ones
	grid.Grid
	facts
	load    *claim.LoadAnalysis
	corners []corner
	terms   map[string]known // by the arms used: most metrics use the same
}

// known is a design with its terms.
type known struct {
	designed
	single []int
	terms  []stat.Term
	err    error
}

// interesting returns the metrics that are explained, after the primary one.
func interesting() []string {
	return []string{
		plan.ServerCPU, plan.ClientCPU, plan.ResponseP50, plan.Throughput, plan.WireSent, plan.WireReceived,
		plan.ServerAllocations, plan.ClientAllocations,
		plan.EventServerCPU, plan.EventClientCPU, plan.DeliveryP50, plan.EventWireReceived, plan.EventServerAllocations,
		plan.EventClientAllocations,
	}
}

func (x *explainer) explain() LoadExplanation {
	found := LoadExplanation{
		Load: x.load.Load, Name: x.load.Name, Primary: x.load.Primary,
		Metrics: []MetricExplanation{},
	}
	var effects, shares, others []effect.Judged
	for i, id := range append([]string{x.load.Primary}, interesting()...) {
		m, err := kinds.MetricByID(id)
		if err != nil || !kinds.Under(m, x.result().Plan.Loads[x.load.Load]) || i > 0 && id == x.load.Primary {
			continue
		}
		one := x.metric(m)
		by := effect.Rule(x.result().Plan, m)
		if one.Primary {
			effects, shares = one.judgedEffects(by), one.judgedShares(by)
		} else {
			others = append(append(others, one.judgedEffects(by)...), one.judgedShares(by)...)
		}
		found.Metrics = append(found.Metrics, one)
	}
	// For the primary metric there are two families of questions: the effects of factors, and the shares of the
	// difference.
	effect.Adjust(effects, stat.Holm, len(effects))
	effect.Adjust(shares, stat.Holm, len(shares))
	effect.Adjust(others, stat.BenjaminiHochberg, 1)
	for _, one := range slices.Concat(effects, shares, others) {
		if one.Difference.Verdict == claim.TooFew {
			one.Difference.Why = fewRounds(one.Difference.Rounds)
		}
	}
	if held := x.held(x.Trials[x.load.Load]); held != "" {
		found.Notes = append(found.Notes, held)
	}
	return found
}

func (x *explainer) result() *result.Result { return x.Result }

func fewRounds(n int) string {
	return fmt.Sprintf("%d rounds have all the arms, a claim needs %d", n, claim.MinRounds)
}

// judgedEffects returns the effects that are judged and adjusted for each other.
func (m *MetricExplanation) judgedEffects(by stat.Rule) []effect.Judged {
	var all []effect.Judged
	for _, effects := range [][]FactorEffect{m.Effects, m.Interactions} {
		for i := range effects {
			if d := effects[i].Difference; d != nil && d.Known {
				all = append(all, effect.Judged{Difference: d, Rule: by})
			}
		}
	}
	return all
}

// judgedShares returns the differences that were split, and their shares.
func (m *MetricExplanation) judgedShares(by stat.Rule) []effect.Judged {
	var all []effect.Judged
	for i := range m.Attributions {
		at := &m.Attributions[i]
		if at.Total == nil {
			continue
		}
		for _, s := range append([]*Share{at.Total}, pointers(at.Shares)...) {
			if s.Difference.Known {
				all = append(all, effect.Judged{Difference: s.Difference, Rule: by})
			}
		}
	}
	return all
}

func pointers[T any](list []T) []*T {
	all := make([]*T, len(list))
	for i := range list {
		all[i] = &list[i]
	}
	return all
}

// metric explains one metric.
func (x *explainer) metric(m metric.Metric) MetricExplanation {
	found := MetricExplanation{Metric: m.ID, Primary: m.ID == x.load.Primary, Arms: []int{}}
	found.Alpha = effect.Alpha(x.result().Plan, found.Primary)
	taken := x.take(m)
	found.Left, found.Rounds = taken.left, taken.rounds
	if found.Arms = append(found.Arms, taken.arms...); taken.why != "" {
		found.Why = taken.why
		return found
	}
	k := x.know(taken.arms)
	if k.err != nil {
		found.Why = "no factor is left in which the arms differ"
		return found
	}
	for _, t := range k.terms {
		effect := x.term(k, t)
		if t.Weights != nil {
			effect.Difference = taken.difference(t.Weights, found.Alpha)
		}
		if len(t.Factors) == 1 {
			found.Effects = append(found.Effects, effect)
		} else {
			found.Interactions = append(found.Interactions, effect)
		}
	}
	for _, f := range k.single {
		found.Effects = append(found.Effects, x.lost(f, taken.arms)...)
	}
	y := make([]float64, len(taken.logs))
	for i, p := range taken.logs {
		y[i] = p.All
	}
	found.Explained = k.design.Model(y)
	for _, c := range x.corners {
		found.Attributions = append(found.Attributions, x.attribute(c, taken, found.Alpha))
	}
	return found
}

// lost returns the effects of a factor with fewer than two levels left.
func (x *explainer) lost(factor int, arms []int) []FactorEffect {
	var all []FactorEffect
	of := &x.factors[factor]
	for level := 1; level < len(of.Levels); level++ {
		all = append(all, FactorEffect{
			Factors: []int{factor}, Levels: []int{level}, Against: []int{0},
			Why: fmt.Sprintf("only %s %s is left among the arms that may be used", of.Name, of.Levels[of.Of[arms[0]]]),
		})
	}
	return all
}

// know returns what some arms determine.
func (x *explainer) know(arms []int) known {
	key := fmt.Sprint(arms)
	k, ok := x.terms[key]
	if !ok {
		k.designed, k.single = x.design(arms)
		k.terms, k.err = k.design.Terms()
		x.terms[key] = k
	}
	return k
}

// term converts a term of a design to the factors of the result.
func (x *explainer) term(k known, t stat.Term) FactorEffect {
	var e FactorEffect
	for i, f := range t.Factors {
		e.Factors = append(e.Factors, k.factors[f])
		e.Levels = append(e.Levels, k.levels[f][t.Levels[i]])
		e.Against = append(e.Against, k.levels[f][0])
	}
	for _, pair := range t.Assumes {
		e.Assumes = append(e.Assumes, [2]int{k.factors[pair[0]], k.factors[pair[1]]})
	}
	if t.Weights != nil {
		return e
	}
	if absent := x.absent(k, t); absent != "" {
		e.Why = absent
		return e
	}
	var with []string
	for _, factors := range t.Aliased {
		own := make([]int, len(factors))
		for i, f := range factors {
			own[i] = k.factors[f]
		}
		with = append(with, x.names(own))
	}
	e.Why = "the arms do not tell it from " + words.And(with)
	return e
}

// absent names the pairs of levels that an interaction needs and that no arm has.
func (x *explainer) absent(k known, t stat.Term) string {
	if len(t.Factors) != 2 {
		return ""
	}
	f, g := t.Factors[0], t.Factors[1]
	var none []string
	for _, i := range [...]int{0, t.Levels[0]} {
		for _, j := range [...]int{0, t.Levels[1]} {
			if !slices.ContainsFunc(k.design.Cells, func(c []int) bool { return c[f] == i && c[g] == j }) {
				none = append(none,
					x.describe([]int{k.factors[f], k.factors[g]}, levelsAt(k, [2]int{f, i}, [2]int{g, j})))
			}
		}
	}
	if len(none) == 0 {
		return ""
	}
	return "no arm has " + strings.Join(none, "; nor ")
}

func levelsAt(k known, at ...[2]int) []int {
	var all []int
	for _, one := range at {
		all = append(all, k.levels[one[0]][one[1]])
	}
	return all
}
