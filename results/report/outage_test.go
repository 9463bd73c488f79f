package report_test

import (
	"strings"
	"testing"
	"time"

	"wirelab/lab/result"
	"wirelab/lab/result/resulttest"
	"wirelab/results/report"
)

// outage is one in which callers were refused and an entry was lost.
func outage(path, fault string) report.Outage {
	return report.Outage{
		Path: path, Fault: fault, Among: 1, Rate: 200, Limit: 250 * time.Millisecond, Due: 1600,
		Refused: map[string]int{"unavailable": 40},
		P99:     12 * time.Millisecond, Longest: 80 * time.Millisecond,
		Answers:  report.Recovery{Left: true, Back: true, SinceBegin: 11 * time.Second, SinceEnd: time.Second},
		Storage:  report.Recovery{Left: true},
		Accepted: 1560, Missing: 1, Doubled: 3, AtLeast: true, Promised: true, Database: "SQLite 3.54.1",
		Machine: "another machine",
	}
}

// For an outage that was not run, the row says which command would run it, with the queue
// and the database of the way. An outage that was run is described and never ranked.
func TestFailures(t *testing.T) {
	t.Parallel()
	r := resulttest.FourWays(2)
	_, none := decisions(r)
	for _, fault := range report.Faults() {
		if none[fault].State != "not measured" || len(none[fault].First) > 0 {
			t.Errorf("%s: %+v", fault, none[fault])
		}
	}
	contains(t, "nothing run", none["logger-down=10s"].Lead,
		"wirelab chaos logging log-grpc log-http log-rabbit --fault logger-down=10s --db embedded --json > "+
			"logger-down.json, and "+
			"wirelab chaos logging log-nats --fault logger-down=10s --no-confirms --db embedded --json > "+
			"logger-down-2.json")
	contains(t, "without a broker", none["broker-restart"].Says,
		"log-grpc and log-http: has no broker that could be stopped")

	lost, again := outage("log-rabbit", "logger-down=10s"), outage("log-grpc", "logger-down=10s")
	lost.Guarantee = resulttest.Queued("RabbitMQ", "quorum", true)
	again.Missing, again.Refused, again.Answers, again.Storage = 0, nil, report.Recovery{},
		report.Recovery{Left: true, Back: true, SinceBegin: time.Second}
	again.Database, again.Guarantee = "PostgreSQL 15.18", &result.Guarantee{}
	absent := report.Outage{Path: "log-nats", Fault: "logger-down=10s", Why: "no server"}
	other := outage("log-rpc", "burst=4x1s")
	other.Among, other.Promised, other.Interrupted = 3, false, true
	tables, rows := decisions(r, lost, again, absent, other)
	row := rows["logger-down=10s"]
	if row.State != "one run" || len(row.First) != 2 || row.First[0].Name != "log-grpc" || len(row.Others) > 0 {
		t.Errorf("%+v", row)
	}
	contains(t, "lost", row.First[1].Text(),
		"log-rabbit at 200/s callers saw 40 of 1,600 refused (40 unavailable), answers within 12.0 ms for 99 of 100, "+
			"the longest 80.0 ms",
		"answers in 250 ms: again 11.0 s after it began, 1.00 s after its end; stored in it: not again within the "+
			"observed time",
		"1 of 1,560 accepted lost, though they were promised, at least 3 delivered again")
	contains(t, "kept", row.First[0].Text(), "saw 0 of 1,600 refused",
		"answers in 250 ms: always; stored in it: again 1.00 s after it began, before its end",
		"0 of 1,560 accepted lost")
	contains(t, "row", row.Says, "not ranked", "no figure: log-nats°: no server", "log-http: not measured",
		"this measures the others: wirelab chaos logging log-http ",
		"log-grpc was run with PostgreSQL 15.18, and measured above with SQLite 3.54.1")
	contains(t, "conditions", row.Holds, "PostgreSQL 15.18",
		"RabbitMQ, quorum queue, confirmed, fsync before it confirms", "another machine", "1 run of each")
	contains(t, "method", tables[len(tables)-1].Method, "n = 1", "not ranked")
	burst := rows["burst=4x1s"]
	contains(t, "burst", burst.Need, "a burst of 4 times what can be sustained for 1s")
	contains(t, "burst", burst.Says, "log-rpc° is none of the arms above", "which were not promised to be kept",
		"of the whole run with its 3 faults", "interrupted")
	if _, usual := rows["burst=10x5s"]; usual {
		t.Error("a burst that was run has also the row of one that was not")
	}
}

// A run of another queue is none of the arm's, and one of the same way twice is shown twice.
func TestFailuresOfOtherQueues(t *testing.T) {
	t.Parallel()
	r := resulttest.FourWays(2)
	o := outage("log-rabbit", "listener-kill")
	o.Guarantee = resulttest.Queued("RabbitMQ", "classic", true)
	same := outage("log-rabbit", "listener-kill")
	same.Guarantee = resulttest.Queued("RabbitMQ", "quorum", true)
	_, rows := decisions(r, o, same, same)
	row := rows["listener-kill"]
	if len(row.First) != 3 || !strings.Contains(strings.Join(row.Notes, "\n"), "log-rabbit is none of the arms above") {
		t.Errorf("%+v", row)
	}
}
