package result

// Gate is a check that makes numbers invalid when it fails, or marks them.
type Gate string

// The gates, with the gate of docs/concepts/checks.md that each is of.
const (
	InPlay   Gate = "in play"  // the arm was not taken out of the experiment
	Answers  Gate = "answers"  // 8: every reply was right
	Sequence Gate = "sequence" // 8: each event of a stream came once, and in order
	Entries  Gate = "entries"  // 8: each entry accepted was stored, and none that nobody sent
	Delivery Gate = "delivery" // 8: each message acknowledged was delivered once, in order and whole
	Recovery Gate = "recovery" // what was done to a broker, and what came of it, was over while anybody looked
	Accounts Gate = "accounts" // 6: every call begun is accounted for
	Steady   Gate = "steady"   // the warm-up reached a steady state
	Settled  Gate = "settled"  // a call cost the server no less at the end of a round than at its beginning
	Physics  Gate = "physics"  // 6: Little's law, in the closed loop
	// 6: bytes moved for each call; no process used more CPU than it had; a
	// server answered no more calls than one that does nothing.
	WireBytes Gate = "bytes on the wire"
	CPUTime   Gate = "CPU time"
	Ceiling   Gate = "throughput against the floor"
	// 2 and 3, in the open loop: as many calls as planned were due and made,
	// and apart from each other as the law says.
	Schedule Gate = "schedule"
	Law      Gate = "arrival law"
	// The service let every call due be made. The gate is there only where it
	// failed: the fault is the service's, and its curve shows it.
	Overload Gate = "overload"
	// 1: the calls of an open loop were made when they were due: closely
	// enough for its medians (and all up to p90), for p99 (and all from p90), for
	// p99.9 (and all beyond p99).
	OnTime50  Gate = "on time for p50"
	OnTime99  Gate = "on time for p99"
	OnTime999 Gate = "on time for p99.9"
	// 4: the generator had CPU to spare, had not to wait for it, and was not
	// stopped by its own garbage collection.
	GeneratorCPU    Gate = "generator CPU"
	GeneratorWaits  Gate = "generator waits"
	GeneratorPauses Gate = "generator pauses"
	// 7: the machine was there for the experiment.
	Steal      Gate = "steal"
	Neighbours Gate = "other processes"
	Throttling Gate = "throttling"
	Clock      Gate = "clock"
	// 5: the server is more of a call than client and kernel are.
	AboveFloor Gate = "floor"
	// The database's processes could be seen; where there is one outside the
	// server. It never fails: it marks.
	DatabaseSeen Gate = "database"
)

// Gates returns all gates in the order they are applied.
func Gates() []Gate {
	return []Gate{
		InPlay, Answers, Sequence, Entries, Delivery, Recovery, Accounts, Steady, Settled, Physics, WireBytes, CPUTime,
		Ceiling, Schedule, Overload, Law,
		OnTime50, OnTime99, OnTime999, GeneratorCPU, GeneratorWaits, GeneratorPauses,
		Clock, Throttling, Steal, Neighbours, AboveFloor, DatabaseSeen,
	}
}
