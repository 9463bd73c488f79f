package plan

// flaws are the flaws of published measurements that presets name, in words.
// Their ids are those of the project's study of the published benchmarks.
var flaws = map[string]string{
	"duh-M01": "requests were protobuf, replies JSON, called protobuf for both",
	"duh-M02": "iterations times time is 1 s, where the command says 30 s",
	"duh-M04": "one run and its mean, without spread",
	"duh-M05": "the server's look-up took 5 of about 35 µs",
	"duh-M06": "client and server in one process, their costs one figure",
	"duh-M08": "the first measured call had to dial",
	"duh-M09": "one deadline for the whole benchmark",
	"duh-M10": "allocations asked of the wrong benchmark",
	"duh-M12": "bytes on the wire not counted",
	"grb-M01": "the time between events, which is the server's own period, called latency",
	"grb-M02": "up to 9.8 % of the events missing, called none dropped",
	"grb-M03": "a rate of each stream called the rate",
	"grb-M04": "one connection for all callers on one side, one for each on the other",
	"grb-M05": "one side's replies decoded, the other's thrown away",
	"grb-M06": "no arrivals by the clock: a caller that waits asks less often",
	"grb-M08": "calls in flight at the end counted as failures or not, by chance, and failures as throughput",
	"grb-M09": "percentiles by two rules, with and without failures",
	"grb-M12": "10 s, once, without warm-up, order or interval",
	"grb-M13": "client, servers and database on one machine, and only the client's cost seen",
	"grb-M15": "callers shared a lock and a channel",
	"grb-M17": "each stream held a connection to the database, and ended with the table",
	"hb-M01":  "no latency recorded, though the scenario is said to be about it",
	"hb-M02":  "messages divided by the time of sending and of reading the rest, in whole seconds",
	"hb-M03":  "failures never counted, and told as none",
	"hb-M04":  "messages counted and not told apart, so that one that comes twice hides one that is lost",
	"hb-M06":  "topics and groups kept from run to run, and read again",
	"hb-M07":  "replies over HTTP left unread, so that nearly every message opened a connection",
	"hb-M08":  "two of three nodes asked were followers, which dialled the leader anew for each message",
	"hb-M09":  "a closed loop with fewer callers than a batch has room for, so that each waited for the batch's timer",
	"hb-M10":  "a GraphQL reply with errors taken for a success",
	"hb-M12":  "messages counted as the client wrote them, whatever the server said",
	"hb-M13":  "acknowledged before anything was written",
	"hb-M15":  "a rate that never catches up with its clock",
	"hb-M16":  "one second to answer over HTTP, and any time over gRPC",
	"hb-M22":  "one run, without warm-up or spread",
	"hb-M23":  "client and nodes sharing cores, of a machine of which nothing is told",
	"hb-M24":  "messages all alike, which compress to nothing on disk",
	"mt-M01":  "measured with older versions than it names",
	"mt-M05":  "one side waited with a deadline, the other without",
	"mt-M06":  "one server for all, asked in alphabetical order, so that the first operation met it cold",
	"mt-M07":  "two processes, and an interval as if iterations did not depend on them",
	"mt-M09":  "each stack on machines of its own, without rotation",
	"mt-M11":  "the HTTP client sent another person than the others",
	"mt-M14":  "neither CPU nor bytes counted",
	"ms-M01":  "the queue was timed to the enqueue, and the others to the store",
	"ms-M02":  "two channels and a declared exchange for each entry that was queued",
	"ms-M03":  "replies left unread, so that nearly every call opened a connection",
	"ms-M04":  "one connection kept on one side, ten at most on the other",
	"ms-M05":  "windows of 0.1 to 0.4 s",
	"ms-M06":  "one way warmed up, and the others cold; one order",
	"ms-M07":  "measured while the queue of the way before was being emptied",
	"ms-M08":  "the closed loop hides the calls that a stall held back",
	"ms-M09":  "means of one run, without the spread",
	"ms-M13":  "the store inside the times of some ways and outside of another's",
}

// Flaw returns a flaw's id with its words, or the id alone where a plan names
// one that is not known here.
func Flaw(id string) string {
	if words, ok := flaws[id]; ok {
		return words + " (" + id + ")"
	}
	return id
}
