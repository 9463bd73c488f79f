package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"wirelab/lab/kind/entries"
	"wirelab/lab/kind/kinds"
	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/claim"
)

// needsTrials returns a check that finds "nothing was measured" if there are no trials, and else calls look.
func needsTrials(look func(scene) finding) func(scene) finding {
	return func(s scene) finding {
		if len(s.trials) == 0 {
			return finding{unseen, "nothing was measured of it"}
		}
		return look(s)
	}
}

// byServer returns the check for a flaw that our servers do not have. For any other server it is not known.
func byServer(why string) func(scene) finding {
	return func(s scene) finding {
		if !s.ours() {
			return finding{unseen, "the server was not started here"}
		}
		return finding{gone, why}
	}
}

// byDriver returns the check for a flaw that our driver does not have, whichever arm it drives.
func byDriver(why string) func(scene) finding {
	return func(scene) finding { return finding{gone, why} }
}

// whether returns a flaw that is here if so is true, else one that is gone.
func whether(so bool, evidence string) finding {
	if so {
		return finding{here, evidence}
	}
	return finding{gone, evidence}
}

// connectionsPerCall looks for calls that each open a connection, as happens if replies are not read to their end.
func connectionsPerCall(s scene) finding {
	opened, sent := s.sum(func(t *result.Trial) uint64 { return t.Connections }),
		s.sum(func(t *result.Trial) uint64 { return t.Sent })
	if s.sum(func(t *result.Trial) uint64 { return t.WireSent + t.Open }) == 0 {
		return finding{unseen, "connections were not counted"}
	}
	evidence := fmt.Sprintf("%s connections opened for %s calls", plan.Thousands(opened), plan.Thousands(sent))
	return whether(2*opened >= sent, evidence)
}

// dialled looks for calls that had to open a connection first.
func dialled(s scene) finding {
	opened := s.sum(func(t *result.Trial) uint64 { return t.Connections })
	if opened == 0 {
		return finding{gone, "no connection was opened while measuring"}
	}
	return finding{here, plan.Thousands(opened) + " connections were opened while measuring"}
}

// unequalConnections looks for arms with different numbers of connections.
func unequalConnections(s scene) finding {
	if len(s.peers) < 2 {
		return finding{unseen, "no other arm has a published figure that it could be unequal to"}
	}
	var held []string
	var counts []uint64
	for _, arm := range s.peers {
		peer := s
		peer.arm, peer.trials = arm, nil
		peer.gather()
		most := uint64(0)
		for _, t := range peer.trials {
			most = max(most, t.Open)
		}
		if most == 0 {
			return finding{unseen, "connections held were not counted"}
		}
		counts = append(counts, most)
		held = append(held, plan.Thousands(most)+" of "+s.r.ArmName(arm))
	}
	if slices.Max(counts) == slices.Min(counts) {
		return finding{gone, fmt.Sprintf("each arm held %s", Plural(int(counts[0]), "connection"))}
	}
	return finding{here, "connections held: " + List(held)}
}

// closedLoop looks for callers that wait for a reply before they send the next request.
func closedLoop(s scene) finding {
	if s.load().Open() {
		return finding{gone, "calls come by the clock, and their times count from when they were due"}
	}
	return finding{here, paceName(s.load()) + ", since that was the question"}
}

// oneCaller looks for a load of a single call in flight.
func oneCaller(s scene) finding {
	return whether(!s.load().Open() && s.load().InFlight <= 1, paceName(s.load()))
}

// oneQuestion looks for the same request in all calls.
func oneQuestion(s scene) finding {
	drawn := s.r.Plan.RequestsOf(s.load())
	if strings.HasPrefix(drawn, "published") {
		return finding{here, "the published request, in all calls"}
	}
	return finding{gone, "requests are drawn (" + cmp.Or(drawn, "the usual way") + ")"}
}

// oneRun looks for figures from one run, which have no spread.
func oneRun(s scene) finding {
	if n := s.rounds(); n >= 2 {
		return finding{gone, fmt.Sprintf("%d rounds of fresh processes, each warmed up, in random order", n)}
	}
	return finding{here, "one round, without an interval"}
}

// fewProcesses looks for fewer runs than a claim needs.
func fewProcesses(s scene) finding {
	n := s.rounds()
	evidence := fmt.Sprintf("%s of fresh processes; a claim needs %d", Plural(n, "round"), claim.MinRounds)
	return whether(n < claim.MinRounds, evidence)
}

// shortWindow looks for a measured time so short that the warm-up is most of it.
func shortWindow(s scene) finding {
	window := time.Duration(s.sum(func(t *result.Trial) uint64 { return uint64(max(t.Window, 0)) }))
	return whether(window < time.Second,
		fmt.Sprintf("%s measured, after warming up", window.Round(100*time.Millisecond)))
}

// windowTold looks for a run whose length is not the stated one.
func windowTold(s scene) finding {
	f := shortWindow(s)
	return finding{gone, "what was measured is counted: " +
		strings.TrimSuffix(f.evidence, " measured, after warming up")}
}

// allocationsHidden looks for allocation figures that include more than the work.
func allocationsHidden(s scene) finding {
	unknown := func(t *result.Trial) bool {
		n, known := t.Server.Allocated()
		return !known || n == 0
	}
	if slices.ContainsFunc(s.trials, unknown) {
		return finding{unseen, "what the server allocated is not known"}
	}
	return finding{gone, "the allocations of server and driver are counted, each by itself"}
}

// sharedCores looks for a client and a server on the same cores.
func sharedCores(s scene) finding {
	if !s.ours() {
		return finding{unseen, "the server was not started here"}
	}
	server, driver := s.r.Placement.ServerCPUs, s.r.Placement.DriverCPUs
	both := func(cpu int) bool { return slices.Contains(driver, cpu) }
	if len(server) > 0 && len(driver) > 0 && !slices.ContainsFunc(server, both) {
		return finding{gone, "server and driver have cores of their own"}
	}
	return finding{here, fmt.Sprintf("they share the %s of this machine", Plural(max(s.r.Environment.CPUs, 1), "CPU"))}
}

// oneMachine looks for a measurement on only one machine.
func oneMachine(s scene) finding {
	f := sharedCores(s)
	if f.where == gone {
		return finding{here, "one machine too; but server and driver have cores of their own, and what each used " +
			"is shown"}
	}
	return f
}

// costHidden looks for a measurement that does not show what both sides cost.
func costHidden(s scene) finding {
	if slices.ContainsFunc(s.trials, func(t *result.Trial) bool { return t.Server == nil || t.Driver == nil }) {
		return finding{unseen, "what the server used is not known"}
	}
	return finding{gone, "the CPU of server and driver is counted, each by itself"}
}

// bytesUncounted looks for a measurement without bytes on the wire.
func bytesUncounted(s scene) finding {
	n := s.sum(func(t *result.Trial) uint64 { return t.WireSent + t.WireReceived })
	if n == 0 {
		return finding{unseen, "no bytes were counted"}
	}
	return finding{gone, "bytes in both directions are counted at the socket"}
}

// notFollowed looks for messages or events that are counted but not identified.
func notFollowed(s scene) finding {
	var missing, again uint64
	for _, t := range s.trials {
		never, more, ok := kinds.Followed(t)
		if !ok {
			return finding{here, "what was sent is not followed"}
		}
		missing, again = missing+never, again+more
	}
	return finding{gone, fmt.Sprintf("each is followed by its number: %s missing, %s came again",
		plan.Thousands(missing), plan.Thousands(again))}
}

// notStored looks for a way that is timed only until its entry is in a queue.
func notStored(s scene) finding {
	if !entries.All(s.trials) {
		return finding{here, "only the reply is timed"}
	}
	return finding{gone, "each way is also timed until the entry is stored"}
}

// leftOver looks for a queue that is still being emptied while the next way is measured.
func leftOver(s scene) finding {
	if !entries.All(s.trials) {
		return finding{unseen, "entries were not followed"}
	}
	return finding{gone, "a slice ends when its entries are stored"}
}

// failuresUncounted looks for failures that were not counted.
func failuresUncounted(s scene) finding {
	failed := s.sum(func(t *result.Trial) (n uint64) {
		for _, count := range t.Errors {
			n += count
		}
		return n
	})
	return finding{gone, "failures are counted, by cause: " + plan.Thousands(failed)}
}

// slowClock looks for a rate that was asked for and not reached.
func slowClock(s scene) finding {
	planned, sent := s.sum(func(t *result.Trial) uint64 { return t.Planned }),
		s.sum(func(t *result.Trial) uint64 { return t.Sent })
	if planned == 0 {
		return finding{gone, "no rate was asked for"}
	}
	evidence := fmt.Sprintf("%s of %s sent that were due", plan.Thousands(sent), plan.Thousands(planned))
	return whether(float64(sent) < 0.999*float64(planned), evidence)
}

// acknowledgedEarly looks for acknowledgements before anything is on disk.
func acknowledgedEarly(s scene) finding {
	early := kinds.Early(s.r, s.arm)
	switch {
	case s.arm >= len(s.r.Arms) || s.r.Arms[s.arm].Guarantee == nil:
		return finding{unseen, "when its acknowledgements are durable is not known"}
	case early != "":
		return finding{here, early}
	}
	return finding{gone, "acknowledged when it is on disk"}
}

// publishedClient looks for the connection handling of the published gateway. Arms with its name repeat it.
func publishedClient(s scene) finding {
	if strings.HasSuffix(s.plan().Protocol, "-published") {
		return finding{here, "the arm does as the published client did"}
	}
	return finding{gone, "connections and channels are kept, and open before an entry comes"}
}

// mixedEncodings looks for requests in one encoding with replies in another.
func mixedEncodings(s scene) finding {
	if s.arm >= len(s.r.Arms) || s.r.Arms[s.arm].Encoding == "" {
		return finding{unseen, "its encoding is not known"}
	}
	return finding{gone, "requests and replies are " + s.r.Arms[s.arm].Encoding}
}

// unequalSecurity looks for TLS on only some of the wires.
func unequalSecurity(s scene) finding {
	var secure, clear []string
	for _, arm := range s.peers {
		switch {
		case arm >= len(s.r.Arms):
		case s.r.Arms[arm].Secure:
			secure = append(secure, s.r.ArmName(arm))
		default:
			clear = append(clear, s.r.ArmName(arm))
		}
	}
	if len(secure) > 0 && len(clear) > 0 {
		return finding{here, "TLS on " + List(secure) + " and not on " + List(clear)}
	}
	return finding{gone, "all wires are secured alike"}
}

// unlikeLibraries looks for different libraries where protocols are compared.
func unlikeLibraries(s scene) finding {
	var said, servers []string
	for _, arm := range s.peers {
		if server := s.r.ServedBy(arm); server != "" {
			servers = append(servers, server)
			said = append(said, server+" serves "+s.r.ArmName(arm))
		}
	}
	if len(servers) == 0 {
		return finding{unseen, "the libraries are not known"}
	}
	slices.Sort(servers)
	if len(slices.Compact(servers)) > 1 {
		return finding{here, List(said)}
	}
	return finding{gone, servers[0] + " serves all arms"}
}

// stalled looks for a stall of about 5.8 ms in every call.
func stalled(s scene) finding {
	const stall = 5.8e6
	for _, l := range s.loads {
		at := slices.IndexFunc(s.a.Loads, func(a claim.LoadAnalysis) bool { return a.Load == l })
		row := s.a.Loads[at].Row(plan.ResponseMean)
		if row == nil || s.arm >= len(row.Cells) || !row.Cells[s.arm].Estimate.Known {
			return finding{unseen, "the mean time of its calls is not known"}
		}
		if v := row.Cells[s.arm].Estimate.Value; v >= stall {
			return finding{unseen, "a call takes " + duration(v) + ", so that such a stall may be in it"}
		}
	}
	return finding{gone, "a whole call takes less than that"}
}

// ownMachines looks for arms on different machines.
func ownMachines(s scene) finding {
	if slices.ContainsFunc(s.r.Plan.Arms, func(a plan.Arm) bool { return a.Target != "" }) {
		return finding{unseen, "servers of others are among the arms"}
	}
	return finding{gone, "all arms take turns on one machine"}
}

// unlikeDeadlines looks for different timeouts on the two sides.
func unlikeDeadlines(s scene) finding {
	return finding{gone, time.Duration(s.r.Plan.Deadline).String() + " for each call of every arm"}
}

// unknownVersions looks for stated versions that are not the measured ones.
func unknownVersions(s scene) finding {
	if len(s.r.Environment.Libraries) == 0 {
		return finding{unseen, "no versions were recorded"}
	}
	return finding{gone, "the program itself writes down the versions that it was built with"}
}

// unknownMachine looks for a machine that is not described.
func unknownMachine(s scene) finding {
	if s.r.Environment.CPU == "" {
		return finding{here, "nothing is known of the machine"}
	}
	return finding{gone, "the result names it: " + s.r.Environment.CPU}
}

// flawChecks maps the ids of flaws to their checks. Every flaw that package plan knows has a check.
var flawChecks = map[string]func(scene) finding{
	"duh-M01": mixedEncodings,
	"duh-M02": needsTrials(windowTold),
	"duh-M03": oneCaller,
	"duh-M04": needsTrials(oneRun),
	"duh-M05": byServer("places are found by a map"),
	"duh-M06": needsTrials(costHidden),
	"duh-M07": unequalSecurity,
	"duh-M08": needsTrials(dialled),
	"duh-M09": unlikeDeadlines,
	"duh-M10": needsTrials(allocationsHidden),
	"duh-M11": oneQuestion,
	"duh-M12": needsTrials(bytesUncounted),
	"grb-M01": byDriver("times count from when an event was due until it was decoded"),
	"grb-M02": needsTrials(notFollowed),
	"grb-M03": byDriver("rates are those of all streams together"),
	"grb-M04": needsTrials(unequalConnections),
	"grb-M05": byDriver("every reply of every arm is read and checked"),
	"grb-M06": closedLoop,
	"grb-M08": byDriver("a slice waits for its calls, and only right replies within it count as throughput"),
	"grb-M09": byDriver("one rule for all percentiles"),
	"grb-M12": needsTrials(oneRun),
	"grb-M13": needsTrials(oneMachine),
	"grb-M15": byDriver("callers share no lock and no channel"),
	"grb-M17": byServer("a stream holds a connection to the database only while it reads a page"),
	"hb-M01":  needsTrials(timesUnknown),
	"hb-M02":  byDriver("only what was acknowledged within the window counts"),
	"hb-M03":  needsTrials(failuresUncounted),
	"hb-M04":  needsTrials(notFollowed),
	"hb-M06":  byServer("each round has a fresh cluster and topic"),
	"hb-M07":  needsTrials(connectionsPerCall),
	"hb-M08":  byDriver("calls go to the node that leads"),
	"hb-M09":  byServer("no message waits for a timer: what comes during a write is the next one"),
	"hb-M10":  byDriver("a GraphQL reply with errors is a failure"),
	"hb-M12":  byDriver("a message counts once it is acknowledged"),
	"hb-M13":  acknowledgedEarly,
	"hb-M15":  needsTrials(slowClock),
	"hb-M16":  unlikeDeadlines,
	"hb-M22":  needsTrials(oneRun),
	"hb-M23":  needsTrials(sharedCores),
	"hb-M24":  byDriver("each message has other bytes"),
	"ms-M01":  needsTrials(notStored),
	"ms-M02":  publishedClient,
	"ms-M03":  needsTrials(connectionsPerCall),
	"ms-M04":  publishedClient,
	"ms-M05":  needsTrials(shortWindow),
	"ms-M06":  needsTrials(oneRun),
	"ms-M07":  needsTrials(leftOver),
	"ms-M08":  closedLoop,
	"ms-M09":  needsTrials(oneRun),
	"ms-M12":  unlikeDeadlines,
	"ms-M13":  needsTrials(notStored),
	"ms-M16":  unknownMachine,
	"mt-M01":  unknownVersions,
	"mt-M03":  needsTrials(timesUnknown),
	"mt-M04":  needsTrials(unequalConnections),
	"mt-M05":  unlikeDeadlines,
	"mt-M06":  needsTrials(oneRun),
	"mt-M07":  needsTrials(fewProcesses),
	"mt-M08":  needsTrials(stalled),
	"mt-M09":  ownMachines,
	"mt-M10":  needsTrials(sharedCores),
	"mt-M11":  byDriver("all arms send the same person"),
	"mt-M12":  closedLoop,
	"mt-M13":  unlikeLibraries,
	"mt-M14":  needsTrials(costHidden),
}

// timesUnknown looks for calls or messages whose times were not recorded.
func timesUnknown(s scene) finding {
	n := s.sum(func(t *result.Trial) uint64 { return t.Response.Count() })
	if n == 0 {
		return finding{unseen, "no times were recorded"}
	}
	return finding{gone, "the times of " + plan.Thousands(n) + " calls are recorded"}
}
