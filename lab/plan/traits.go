package plan

// traits are what a plan needs to know about a kind of load: its defaults and how to describe it. All other
// properties of a kind are in wirelab/lab/kind, which imports this package.
type traits struct {
	// calls is whether the load makes single calls, as other load generators do.
	calls bool
	// held is whether its streams stay open all the time. Then there are no calls in flight, and no arrivals.
	held bool
	// complete fills in defaults of the kind, before those of all plans. It may be nil.
	complete func(*Plan)
	// slice is the default length of a slice. 0: that of the closed or open loop.
	slice Duration
	// floor is the default of a plan's floor.
	floor string
	// primary is the default primary metric. nil: that of calls.
	primary func(Plan) string
	// pace describes a load. nil: as for calls.
	pace func(Load) string
}

// traits are those of a load's kind.
func (l Load) traits() traits {
	switch l.Kind() {
	case Messages:
		return traits{
			complete: (*Plan).completeMessaging, floor: FloorAuto, primary: Plan.messagePrimary,
			pace: func(l Load) string { return l.Scenario + ", " + l.SendPace() },
		}
	case Held:
		return traits{
			held: true, slice: defaultSliceStreams, floor: FloorNone, primary: Plan.streamPrimary,
			pace: Load.streamsPace,
		}
	}
	return traits{calls: true, floor: FloorAuto}
}

// traits are those of a plan's loads, which are all of one kind.
func (p Plan) traits() traits {
	if len(p.Loads) == 0 {
		return Load{}.traits()
	}
	return p.Loads[0].traits()
}
