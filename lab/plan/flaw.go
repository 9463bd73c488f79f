package plan

import (
	"maps"
	"slices"
)

// Effect says how a flaw changes the figure that has it.
type Effect string

// The effects. A flaw can affect the rows of one table differently, so even a flaw with a known direction can change
// their order.
const (
	Slower    Effect = "makes it look slower"
	Faster    Effect = "makes it look better"
	EitherWay Effect = "may go either way"
	Hidden    Effect = "hides what it is worth"
)

type flaw struct {
	effect Effect
	words  string
}

// flaws are the flaws of published measurements that presets refer to. A plan does not say whether an arm has the
// same flaw: package report decides that from the arm's settings and from the counters. The ids are those of the
// study of the published benchmarks.
var flaws = map[string]flaw{
	"duh-M01": {Slower, "requests were protobuf, replies JSON, but the result was called protobuf"},
	"duh-M02": {EitherWay, "iterations times time per call is 1 s, but the command says 30 s"},
	"duh-M03": {Hidden, "one caller, so there were no concurrent calls, which HTTP/2 and gRPC are made for"},
	"duh-M04": {Hidden, "the mean of one run, without spread"},
	"duh-M05": {Slower, "the server's look-up took 5 of about 35 µs"},
	"duh-M06": {Hidden, "client and server in one process, with their costs in one figure"},
	"duh-M07": {EitherWay, "TLS on one wire only, with another HTTP/2 implementation than without TLS"},
	"duh-M08": {Slower, "the first measured call had to open the connection"},
	"duh-M09": {EitherWay, "one deadline for the whole benchmark"},
	"duh-M10": {Hidden, "allocations reported for the wrong benchmark"},
	"duh-M11": {Hidden, "the same request every time"},
	"duh-M12": {Hidden, "bytes on the wire not counted"},
	"grb-M01": {Hidden, "the time between events, which is the server's own period, called latency"},
	"grb-M02": {Faster, "up to 9.8 % of the events missing, but reported as none dropped"},
	"grb-M03": {Faster, "the rate of one stream reported as the whole rate"},
	"grb-M04": {EitherWay, "one connection for all callers on one side, one for each on the other"},
	"grb-M05": {Slower, "replies decoded on one side, and discarded on the other"},
	"grb-M06": {Faster, "no arrivals by the clock: a caller that waits sends fewer requests"},
	"grb-M08": {Faster, "calls in flight at the end counted as failures by chance, and failures counted as throughput"},
	"grb-M09": {EitherWay, "percentiles computed by two rules, one with failures and one without"},
	"grb-M12": {Hidden, "one run of 10 s, without warm-up, random order or interval"},
	"grb-M13": {EitherWay, "client, servers and database on one machine, and only the client's cost measured"},
	"grb-M15": {Slower, "callers shared a lock and a channel"},
	"grb-M17": {EitherWay, "each stream held a database connection, and ended at the end of the table"},
	"hb-M01":  {Hidden, "no latency recorded, though the scenario is meant to show it"},
	"hb-M02":  {Slower, "messages divided by the time for sending and for reading the rest, in whole seconds"},
	"hb-M03":  {Faster, "failures never counted, but reported as none"},
	"hb-M04":  {Faster, "messages counted but not identified, so a duplicate hides a lost message"},
	"hb-M06":  {EitherWay, "topics and groups kept from one run to the next, and read again"},
	"hb-M07":  {Slower, "HTTP replies not read, so nearly every message opened a connection"},
	"hb-M08":  {Slower, "two of the three nodes used were followers, which connected to the leader for each message"},
	"hb-M09": {Slower, "a closed loop with fewer callers than a batch holds, so each caller waited for the " +
		"batch's timer"},
	"hb-M10": {Faster, "GraphQL replies with errors counted as successes"},
	"hb-M12": {Faster, "messages counted when the client wrote them, whatever the server answered"},
	"hb-M13": {Faster, "acknowledged before the write to disk"},
	"hb-M15": {Slower, "a rate that does not catch up after a delay"},
	"hb-M16": {EitherWay, "a deadline of one second over HTTP, and none over gRPC"},
	"hb-M22": {Hidden, "one run, without warm-up or spread"},
	"hb-M23": {EitherWay, "client and nodes on the same cores of a machine that is not described"},
	"hb-M24": {Faster, "identical messages, which compress to almost nothing on disk"},
	"ms-M01": {Faster, "the queue was timed until the enqueue, the others until the store"},
	"ms-M02": {Slower, "two channels and an exchange declaration for each queued entry"},
	"ms-M03": {Slower, "replies not read, so nearly every call opened a connection"},
	"ms-M04": {EitherWay, "one connection on one side, up to ten on the other"},
	"ms-M05": {EitherWay, "windows of 0.1 to 0.4 s"},
	"ms-M06": {EitherWay, "one path warmed up, and the others cold; a fixed order"},
	"ms-M07": {EitherWay, "measured while the queue of the previous path was still draining"},
	"ms-M08": {Faster, "a closed loop, in which a stall hides the calls that it delayed"},
	"ms-M09": {Hidden, "means of one run, without spread"},
	"ms-M12": {EitherWay, "a deadline of 5 s on one path, 1 s on another, and none on the queue"},
	"ms-M13": {EitherWay, "the store included in the times of some paths, and not of another"},
	"ms-M16": {Hidden, "client, services and databases shared a machine that is not described"},
	"mt-M01": {Hidden, "measured with older versions than the report says"},
	"mt-M03": {Hidden, "throughput only, no response times"},
	"mt-M04": {EitherWay, "one connection for each caller in one stack, one for all callers in the others"},
	"mt-M05": {EitherWay, "one side had a deadline, the other had none"},
	"mt-M06": {Slower, "one server for all operations, called in alphabetical order, so the first operation " +
		"found it cold"},
	"mt-M07": {Hidden, "two processes, and an interval that treats iterations as independent of them"},
	"mt-M08": {Slower, "a stall of about 5.8 ms in every HTTP call of every operation, which was not " +
		"investigated"},
	"mt-M09": {EitherWay, "each stack on its own machines, without rotation"},
	"mt-M10": {EitherWay, "client and server on the same cores of one laptop"},
	"mt-M11": {Slower, "the HTTP client sent a different person than the others"},
	"mt-M12": {Faster, "a closed loop, in which a stall delays the calls that would have met it"},
	"mt-M13": {EitherWay, "libraries compared, but presented as formats and protocols"},
	"mt-M14": {Hidden, "neither CPU nor bytes measured"},
}

// Flaw returns a flaw's description with its id, or the id alone if it is unknown here.
func Flaw(id string) string {
	if f, ok := flaws[id]; ok {
		return f.words + " (" + id + ")"
	}
	return id
}

// FlawEffect is the effect of a flaw; "" if it is unknown here.
func FlawEffect(id string) Effect { return flaws[id].effect }

// FlawIDs returns the ids of the known flaws, sorted.
func FlawIDs() []string { return slices.Sorted(maps.Keys(flaws)) }
