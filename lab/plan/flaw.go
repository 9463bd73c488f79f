package plan

import (
	"maps"
	"slices"
)

// Effect is what a flaw does to the figure that it is in.
type Effect string

// The effects. What a flaw does may differ between the rows of one table, which is
// why a flaw of one effect can change an order.
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

// flaws are the flaws of published measurements that presets name. Whether an arm
// has one too is no matter of a plan: package report tells it from the arm's settings
// and from what was counted. Their ids are those of the study of the published
// benchmarks.
var flaws = map[string]flaw{
	"duh-M01": {Slower, "requests were protobuf, replies JSON, called protobuf for both"},
	"duh-M02": {EitherWay, "iterations times time is 1 s, where the command says 30 s"},
	"duh-M03": {Hidden, "one caller, so that nothing was asked at once, which HTTP/2 and gRPC are for"},
	"duh-M04": {Hidden, "one run and its mean, without spread"},
	"duh-M05": {Slower, "the server's look-up took 5 of about 35 µs"},
	"duh-M06": {Hidden, "client and server in one process, their costs one figure"},
	"duh-M07": {EitherWay, "TLS on one wire alone, by another HTTP/2 than the clear one"},
	"duh-M08": {Slower, "the first measured call had to dial"},
	"duh-M09": {EitherWay, "one deadline for the whole benchmark"},
	"duh-M10": {Hidden, "allocations asked of the wrong benchmark"},
	"duh-M11": {Hidden, "one question, asked again and again"},
	"duh-M12": {Hidden, "bytes on the wire not counted"},
	"grb-M01": {Hidden, "the time between events, which is the server's own period, called latency"},
	"grb-M02": {Faster, "up to 9.8 % of the events missing, called none dropped"},
	"grb-M03": {Faster, "a rate of each stream called the rate"},
	"grb-M04": {EitherWay, "one connection for all callers on one side, one for each on the other"},
	"grb-M05": {Slower, "one side's replies decoded, the other's thrown away"},
	"grb-M06": {Faster, "no arrivals by the clock: a caller that waits asks less often"},
	"grb-M08": {Faster, "calls in flight at the end counted as failures or not, by chance, and failures as throughput"},
	"grb-M09": {EitherWay, "percentiles by two rules, with and without failures"},
	"grb-M12": {Hidden, "10 s, once, without warm-up, order or interval"},
	"grb-M13": {EitherWay, "client, servers and database on one machine, and only the client's cost seen"},
	"grb-M15": {Slower, "callers shared a lock and a channel"},
	"grb-M17": {EitherWay, "each stream held a connection to the database, and ended with the table"},
	"hb-M01":  {Hidden, "no latency recorded, though the scenario is said to be about it"},
	"hb-M02":  {Slower, "messages divided by the time of sending and of reading the rest, in whole seconds"},
	"hb-M03":  {Faster, "failures never counted, and told as none"},
	"hb-M04":  {Faster, "messages counted and not told apart, so that one that comes twice hides one that is lost"},
	"hb-M06":  {EitherWay, "topics and groups kept from run to run, and read again"},
	"hb-M07":  {Slower, "replies over HTTP left unread, so that nearly every message opened a connection"},
	"hb-M08":  {Slower, "two of three nodes asked were followers, which dialled the leader anew for each message"},
	"hb-M09": {Slower, "a closed loop with fewer callers than a batch has room for, so that each waited for the " +
		"batch's timer"},
	"hb-M10": {Faster, "a GraphQL reply with errors taken for a success"},
	"hb-M12": {Faster, "messages counted as the client wrote them, whatever the server said"},
	"hb-M13": {Faster, "acknowledged before anything was written"},
	"hb-M15": {Slower, "a rate that never catches up with its clock"},
	"hb-M16": {EitherWay, "one second to answer over HTTP, and any time over gRPC"},
	"hb-M22": {Hidden, "one run, without warm-up or spread"},
	"hb-M23": {EitherWay, "client and nodes sharing cores, of a machine of which nothing is told"},
	"hb-M24": {Faster, "messages all alike, which compress to nothing on disk"},
	"ms-M01": {Faster, "the queue was timed to the enqueue, and the others to the store"},
	"ms-M02": {Slower, "two channels and a declared exchange for each entry that was queued"},
	"ms-M03": {Slower, "replies left unread, so that nearly every call opened a connection"},
	"ms-M04": {EitherWay, "one connection kept on one side, ten at most on the other"},
	"ms-M05": {EitherWay, "windows of 0.1 to 0.4 s"},
	"ms-M06": {EitherWay, "one way warmed up, and the others cold; one order"},
	"ms-M07": {EitherWay, "measured while the queue of the way before was being emptied"},
	"ms-M08": {Faster, "a closed loop, in which a stall hides the calls that it held back"},
	"ms-M09": {Hidden, "means of one run, without the spread"},
	"ms-M12": {EitherWay, "5 s to answer over one way, 1 s over another, and any time over the queue"},
	"ms-M13": {EitherWay, "the store inside the times of some ways and outside of another's"},
	"ms-M16": {Hidden, "nothing told of the machine, which client, services and databases shared"},
	"mt-M01": {Hidden, "measured with older versions than it names"},
	"mt-M03": {Hidden, "throughput only, and no time of a call"},
	"mt-M04": {EitherWay, "a connection for each caller of one stack, one for all callers of the others"},
	"mt-M05": {EitherWay, "one side waited with a deadline, the other without"},
	"mt-M06": {Slower, "one server for all, asked in alphabetical order, so that the first operation met it cold"},
	"mt-M07": {Hidden, "two processes, and an interval as if iterations did not depend on them"},
	"mt-M08": {Slower, "a stall of some 5.8 ms in every call over HTTP, whatever the operation, that was not " +
		"looked into"},
	"mt-M09": {EitherWay, "each stack on machines of its own, without rotation"},
	"mt-M10": {EitherWay, "client and server sharing the cores of one laptop"},
	"mt-M11": {Slower, "the HTTP client sent another person than the others"},
	"mt-M12": {Faster, "a closed loop, in which a stall holds back the calls that would have met it"},
	"mt-M13": {EitherWay, "libraries compared, and called formats and protocols"},
	"mt-M14": {Hidden, "neither CPU nor bytes counted"},
}

// Flaw returns a flaw's id with its words, or the id alone where a plan names
// one that is not known here.
func Flaw(id string) string {
	if f, ok := flaws[id]; ok {
		return f.words + " (" + id + ")"
	}
	return id
}

// FlawEffect is what a flaw does to a figure; "" of one that is not known here.
func FlawEffect(id string) Effect { return flaws[id].effect }

// FlawIDs returns the ids of the flaws that are known here, in order.
func FlawIDs() []string { return slices.Sorted(maps.Keys(flaws)) }
