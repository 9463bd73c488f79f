package plan

import (
	"fmt"
	"slices"
)

// Kind is what a load does: it decides what is measured, how it is checked, and what a report shows of it.
type Kind string

// The kinds that the fields of a load tell apart.
const (
	Calls    Kind = "calls"
	Messages Kind = "messages" // through a broker
	Held     Kind = "streams"  // that are held open
)

// traits are what a plan needs to know about a kind of load: how to recognise it, its checks, its defaults and its
// description. All other properties of a kind are in wirelab/lab/kind, which imports this package.
type traits struct {
	kind Kind
	// is reports whether a load is of the kind.
	is func(Load) bool
	// calls is whether the load makes single calls, as other load generators do.
	calls bool
	// held is whether its streams stay open all the time. Then there are no calls in flight, and no arrivals.
	held bool
	// check checks what a load of the kind says by itself; stray refuses its fields in a load of another kind.
	check, stray func(l Load, field string) error
	// mixed says why loads of the kind and of others cannot be in one plan.
	mixed string
	// checkPlan checks what the kind allows of the rest of a plan; strayPlan refuses its fields in a plan of others.
	checkPlan, strayPlan func(Plan) error
	// fill fills in what one load leaves out, and complete what the plan does, before the defaults of all; nil: nothing.
	fill     func(p Plan, l *Load)
	complete func(*Plan)
	// slice is the default length of a slice. 0: that of the closed or open loop.
	slice Duration
	// floor is the default of a plan's floor.
	floor string
	// primary is the default primary metric. nil: that of calls.
	primary func(Plan) string
	// pace describes a load. nil: as for calls.
	pace func(Load) string
	// metrics are the ids of the metrics that calls do not have; nil: none.
	metrics func() []string
}

// kinds is the one table of what plans know of kinds. A load is of the first kind that says so, and else of the last.
func kinds() []traits {
	return []traits{messageTraits(), streamTraits(), {
		kind: Calls, is: func(Load) bool { return true }, calls: true, floor: FloorAuto,
		check: func(Load, string) error { return nil }, stray: func(Load, string) error { return nil },
		checkPlan: func(Plan) error { return nil }, strayPlan: func(Plan) error { return nil },
	}}
}

func messageTraits() traits {
	return traits{
		kind: Messages, is: func(l Load) bool { return l.Scenario != "" },
		check: Load.checkMessages, stray: Load.strayMessages,
		mixed:     "with a scenario if loads[0] has one, and without if not: they have other metrics and other trials",
		checkPlan: Plan.checkMessaging, strayPlan: Plan.strayMessaging,
		fill: Plan.fillMessages, complete: (*Plan).completeMessaging, floor: FloorAuto, primary: Plan.messagePrimary,
		pace:    func(l Load) string { return l.Scenario + ", " + l.SendPace() },
		metrics: MessageMetricIDs,
	}
}

func streamTraits() traits {
	return traits{
		kind: Held, is: func(l Load) bool { return l.Streams > 0 }, held: true,
		check: Load.checkStreams, stray: Load.strayStreams,
		mixed:     "with streams if loads[0] has them, and without if not: they have other metrics and other slices",
		checkPlan: Plan.checkStreaming, strayPlan: Plan.strayStreaming,
		slice: defaultSliceStreams, floor: FloorNone, primary: Plan.streamPrimary,
		pace: Load.streamsPace, metrics: StreamMetricIDs,
	}
}

// traits are those of a load's kind.
func (l Load) traits() traits {
	all := kinds()
	return all[slices.IndexFunc(all, func(t traits) bool { return t.is(l) })]
}

// traits are those of a plan's loads, which are all of one kind.
func (p Plan) traits() traits {
	if len(p.Loads) == 0 {
		return Load{}.traits()
	}
	return p.Loads[0].traits()
}

// Kind tells the kinds of load apart. All that depends on it asks for the kind, or asks package kinds for the value.
func (l Load) Kind() Kind { return l.traits().kind }

// Kind is the kind of a plan's loads, which is one.
func (p Plan) Kind() Kind { return p.traits().kind }

// checkKinds checks what a load says that depends on its kind.
func (l Load) checkKinds(field string) error {
	own := l.Kind()
	for _, t := range kinds() {
		check := t.stray
		if t.kind == own {
			check = t.check
		}
		if err := check(l, field); err != nil {
			return err
		}
	}
	return nil
}

// checkKinds checks what a complete plan says that depends on the kind of its loads.
func (p Plan) checkKinds() error {
	own := p.Kind()
	for i, l := range p.Loads {
		if t := p.traits(); l.Kind() != own {
			if t.mixed == "" {
				t = l.traits()
			}
			return bad(fmt.Sprintf("loads[%d]", i), l, t.mixed)
		}
	}
	for _, t := range kinds() {
		check := t.strayPlan
		if t.kind == own {
			check = t.checkPlan
		}
		if err := check(p); err != nil {
			return err
		}
	}
	return nil
}
