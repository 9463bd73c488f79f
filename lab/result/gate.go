package result

// Gate is a check that invalidates or marks figures when it fails.
type Gate string

// The gates. A number is that of the gate in docs/concepts/checks.md.
const (
	InPlay   Gate = "in play"  // the arm was not removed from the experiment
	Answers  Gate = "answers"  // 8: every reply was right
	Sequence Gate = "sequence" // 8: each event of a stream came once and in order
	Entries  Gate = "entries"  // 8: each accepted entry was stored, and no entry that was never sent
	Delivery Gate = "delivery" // 8: each acknowledged message was delivered once, in order and unchanged
	Recovery Gate = "recovery" // a fault, and the recovery from it, ended within the window
	Accounts Gate = "accounts" // 6: every call that began is accounted for
	Steady   Gate = "steady"   // the warm-up reached a steady state
	Settled  Gate = "settled"  // a call cost the server no less at the end of a round than at its beginning
	Physics  Gate = "physics"  // 6: Little's law, in the closed loop
	// 6: bytes were moved for each call; no process used more CPU time than it had; a server answered no more calls
	// than one that does nothing.
	WireBytes Gate = "bytes on the wire"
	CPUTime   Gate = "CPU time"
	Ceiling   Gate = "throughput against the floor"
	// 2 and 3, in the open loop: as many calls as planned were due and made, and their distances follow the planned
	// distribution.
	Schedule Gate = "schedule"
	Law      Gate = "arrival law"
	// The service allowed every due call to be made. This gate appears only if it failed: the fault is the service's,
	// and its curve shows it.
	Overload Gate = "overload"
	// 1: the calls of an open loop were made on time: precisely enough for medians (and all up to p90), for p99 (and
	// all from p90), for p99.9 (and all beyond p99).
	OnTime50  Gate = "on time for p50"
	OnTime99  Gate = "on time for p99"
	OnTime999 Gate = "on time for p99.9"
	// 4: the generator had CPU time to spare, did not wait for a CPU, and was not stopped by its own garbage
	// collection.
	GeneratorCPU    Gate = "generator CPU"
	GeneratorWaits  Gate = "generator waits"
	GeneratorPauses Gate = "generator pauses"
	// 7: the machine was available to the experiment.
	Steal      Gate = "steal"
	Neighbours Gate = "other processes"
	Throttling Gate = "throttling"
	Clock      Gate = "clock"
	// 5: the server is a larger part of a call than client and kernel.
	AboveFloor Gate = "floor"
	// The processes of a database outside of the server could be observed. This gate never fails; it only marks.
	DatabaseSeen Gate = "database"
)

// Gates returns all gates in the order in which they are applied.
func Gates() []Gate {
	return []Gate{
		InPlay, Answers, Sequence, Entries, Delivery, Recovery, Accounts, Steady, Settled, Physics, WireBytes, CPUTime,
		Ceiling, Schedule, Overload, Law,
		OnTime50, OnTime99, OnTime999, GeneratorCPU, GeneratorWaits, GeneratorPauses,
		Clock, Throttling, Steal, Neighbours, AboveFloor, DatabaseSeen,
	}
}
