package conformance

import (
	"context"
	"math/rand/v2"

	"wirelab"
)

// exchange makes the edge value's exchange.
func (t EdgeValue[S]) exchange(w wirelab.Workload[S]) (wirelab.Exchange[S], error) {
	o, err := operation(w, t.Operation)
	if err != nil {
		return wirelab.Exchange[S]{}, err
	}
	if t.Exchange.Ask != nil {
		return t.Exchange, nil
	}
	return o.Parse([]byte(t.JSON))
}

// edge values asks the nasty values.
func (c *cell[S]) edgeValues(r reporter) {
	g := c.raise(r, c.workload.New(), setup{})
	if g == nil {
		return
	}
	defer g.lower(r)
	oracle := c.workload.New()
	for _, t := range c.suite.EdgeValues {
		if c.hole(t.Operation) {
			continue
		}
		e, err := t.exchange(c.workload)
		if err != nil {
			r.Errorf("edge value %s %s: %v", t.Operation, t.Name, err)
			continue
		}
		if fault := differ(g.ask(e), ask(context.Background(), e, oracle)); fault != "" {
			r.Errorf("edge value %s %s, which %s: %s", t.Operation, t.Name, t.Why, fault)
		}
	}
}

// probes checks the properties that one exchange cannot show.
func (c *cell[S]) probes(r reporter) {
	for _, p := range c.suite.Probes {
		if c.hole(p.Operation) {
			continue
		}
		g := c.raise(r, c.workload.New(), setup{})
		if g == nil {
			return
		}
		ctx, cancel := g.call()
		c.exchanges.Add(1)
		if err := p.Check(ctx, g.stub); err != nil {
			r.Errorf("probe %s, because %s: %v", p.Name, p.Why, err)
		}
		cancel()
		g.lower(r)
	}
}

// holeDraws is how many drawn requests each hole is asked.
const holeDraws = 4

// holes asks what the binding says it cannot do. It must say so to its caller
// too, and must not be able to after all.
func (c *cell[S]) holes(r reporter) {
	if len(c.binding.Holes) == 0 {
		return
	}
	g := c.raise(r, c.workload.New(), setup{})
	if g == nil {
		return
	}
	defer g.lower(r)
	for name, reason := range c.binding.Holes {
		if !judgeable(reason) {
			r.Errorf("hole %s: the reason %q is not a sentence a reader can judge", name, reason)
		}
		o, err := operation(c.workload, name)
		if err != nil {
			r.Errorf("hole: %v", err)
			continue
		}
		random := rand.New(rand.NewPCG(c.seed, 3))
		for range holeDraws {
			e, err := o.Draw("", random)
			if err != nil {
				r.Errorf("draw: %v", err)
				break
			}
			want, got := ask(context.Background(), e, c.workload.New()), g.ask(e)
			switch {
			case want.err != nil:
			case differ(got, want) == "":
				r.Errorf("%s: declared hole starts to pass: remove it (reason given was %q)", name, reason)
			case got.err == nil || got.err.Code != wirelab.Unimplemented:
				r.Errorf("%s: declared hole answers %s, want the code unimplemented", name, short(got.String()))
			}
		}
	}
}
