package plan

// traits are what a plan needs to know of a kind of load: its defaults and its words. All else that depends on a kind
// is in wirelab/lab/kind, which stands above plans.
type traits struct {
	// calls: it makes calls, one by one, which other load generators can make too.
	calls bool
	// held: its streams are open all the time. There are no calls in flight, and no arrivals.
	held bool
	// complete fills in what a plan leaves out, before the defaults of all plans; nil: nothing.
	complete func(*Plan)
	// slice is how long a slice is by default; 0: as the loop has it.
	slice Duration
	// floor is the default of a plan's floor.
	floor string
	// primary is the metric that decides by default; nil: that of calls.
	primary func(Plan) string
	// pace is a load in words; nil: as calls have it.
	pace func(Load) string
}

// traits of a load's kind.
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

// traits of a plan's loads, which are of one kind.
func (p Plan) traits() traits {
	if len(p.Loads) == 0 {
		return Load{}.traits()
	}
	return p.Loads[0].traits()
}
