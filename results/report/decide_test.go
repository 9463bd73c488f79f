package report_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/analyse"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/rank"
	"wirelab/lab/result/resulttest"
	"wirelab/results/report"
)

// decisions are the tables of a result, and its only load's rows by metric.
func decisions(r *result.Result, outages ...report.Outage) ([]report.DecisionTable, map[string]report.Decision) {
	a := analyse.Result(r)
	tables := report.Decisions(r, &a, outages)
	rows := map[string]report.Decision{}
	for _, t := range tables {
		for _, d := range t.Rows {
			rows[d.Metric] = d
		}
	}
	return tables, rows
}

// contains holds a text against all that is to be in it.
func contains(t *testing.T, about, text string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("%s: %q lacks %q", about, text, w)
		}
	}
}

// The first by a figure may be one that answers before an entry is durable: the
// same row says so, and who is first of the others (ms-M01, ms-D01).
func TestDecisions(t *testing.T) {
	t.Parallel()
	tables, rows := decisions(resulttest.FourWays(14))
	if len(tables) != 2 || len(tables[0].Rows) != 8 || tables[0].Load != 0 || tables[1].Load != -1 {
		t.Fatalf("%d tables", len(tables))
	}
	answer := rows[plan.ResponseP50]
	contains(t, "answer", answer.Lead, "log-nats° (", "log-", " takes ", "95 % CI ")
	contains(t, "answer", strings.Join(answer.Notes, "\n"),
		"log-nats° answers before the entry is durable (stream, unconfirmed)",
		"of those that answer only when the entry is durable: ", "log-grpc", "log-http", "equivalent ±3 %")
	if answer.State != string(claim.LeaderClear) || len(answer.Others) != 3 || !answer.First[0].Early ||
		answer.Others[0].Early {
		t.Errorf("answer: %+v", answer)
	}
	contains(t, "stored", rows[plan.StoredP50].Lead, "equivalent ±3 %", "log-grpc", "log-http")
	if len(rows[plan.StoredP50].Notes) != 0 {
		t.Errorf("the first to store are durable, and %q", rows[plan.StoredP50].Notes)
	}
	contains(t, "CPU", rows[rank.PipelineCPU].Lead, "log-grpc (", "log-http costs ", " more (95 % CI ")
	contains(t, "confirmed", rows[plan.ConfirmedP50].Says, "of those with a figure, ",
		"; no figure: log-nats°: no reply confirms its entries")
	contains(t, "p99", rows[plan.ResponseP99].Says, "no figure: log-rabbit: needs ")
	contains(t, "kept", rows["kept"].Lead, "log-rabbit (0 of ", ", so at most 1 in ")
	for _, d := range tables[0].Rows {
		contains(t, d.Need, d.Holds, "50 calls in flight", "SQLite 3.54.1", "2 CPUs")
	}
	var facts []string
	for _, f := range tables[0].Conditions {
		facts = append(facts, f.Name+" "+f.Text)
	}
	contains(t, "conditions", strings.Join(facts, "\n"), "load 50 calls in flight, closed loop",
		"database SQLite 3.54.1", "14 rounds",
		"RabbitMQ 3.10.8, quorum queue, confirmed, fsync before it confirms (log-rabbit)", "machine ")
	contains(t, "promises", strings.Join(tables[0].Promises, "\n"),
		"log-grpc answers once the entry is stored in SQLite 3.54.1",
		"log-rabbit answers once RabbitMQ 3.10.8 has the entry on disk",
		"log-nats° answers before NATS JetStream 2.15.2 has confirmed anything")
}

// With too few rounds no way is first. A single way has nothing to be compared with.
// A way that lost an entry has no figure. An open loop asks for no rate. Other
// experiments have no such table.
func TestDecisionsWhereThereIsLittle(t *testing.T) {
	t.Parallel()
	_, few := decisions(resulttest.FourWays(6))
	contains(t, "few", few[plan.ResponseP50].Lead,
		"no way is put first: a claim among so many pairs needs 10 rounds; so far log-nats°")
	one := resulttest.Way{
		Name: "log-grpc", Answer: 700 * time.Microsecond, CPU: 210 * time.Microsecond,
		Guarantee: &result.Guarantee{}, Database: "SQLite 3",
	}
	_, alone := decisions(resulttest.Ways(12, plan.Load{InFlight: 50}, one))
	contains(t, "alone", alone[plan.StoredP50].Lead, "only log-grpc (", "nothing to compare it with")
	lossy, memory := one, one
	lossy.Name, lossy.Missing, memory.Name, memory.Database = "log-http", 2, "log-rpc", ""
	open, rows := decisions(resulttest.Ways(12, plan.Load{Rate: 800, Arrivals: plan.Poisson, InFlight: 64}, one, lossy,
		memory))
	contains(t, "open", rows[rank.StoredRate].Lead, "not asked: every way was sent the same load, 800/s Poisson")
	contains(t, "open", open[0].Conditions[0].Text, "open loop")
	contains(t, "lossy", rows["kept"].Says, "no figure: log-http: 2 of ", " missing")
	contains(t, "lossy", rows[plan.ResponseP50].Says, "log-http: of ", "2 accepted and never stored")
	contains(t, "memory", strings.Join(open[0].Promises, "\n"),
		"log-rpc° answers once the entry is in the logger's memory")
	if tables, _ := decisions(resulttest.Closed()); tables != nil {
		t.Errorf("calls are ways to hand entries on: %+v", tables)
	}
	bare := resulttest.FourWays(12)
	bare.Arms = nil // as a file may have it
	if tables, _ := decisions(bare); len(tables) != 2 {
		t.Errorf("%d tables where nothing tells what arms are", len(tables))
	}
	for _, r := range []*result.Result{{}, {Rounds: make([]result.Round, 3)}, resulttest.Short(0)} {
		if tables, _ := decisions(r); tables != nil {
			t.Errorf("%+v of nothing", tables)
		}
	}
}

// Every number of a row is in the result: other figures give another table, and
// nothing of the first is left.
func TestDecisionsAreFilledFromTheResult(t *testing.T) {
	t.Parallel()
	ms := regexp.MustCompile(`[0-9.,]+ (ms|µs)`)
	_, before := decisions(resulttest.FourWays(12))
	slower := resulttest.FourWays(12)
	for n := range slower.Rounds {
		for i := range slower.Rounds[n].Trials {
			slower.Rounds[n].Trials[i].Server.CPU *= 3
		}
	}
	_, after := decisions(slower)
	for _, figure := range ms.FindAllString(before[rank.PipelineCPU].Says, -1) {
		if slices.Contains(ms.FindAllString(after[rank.PipelineCPU].Says, -1), figure) {
			t.Errorf("%s stands in both: %s", figure, after[rank.PipelineCPU].Says)
		}
	}
}

// What a caller knows, in words.
func TestPromises(t *testing.T) {
	t.Parallel()
	for want, h := range map[string]*result.Guarantee{
		"delivers entries in a way that was not recorded": nil,
		"before RabbitMQ 4 has confirmed anything (quorum queue, unconfirmed)": resulttest.Queued("RabbitMQ", "quorum",
			false),
		"has the entry in memory (classic queue, confirmed, transient)": {
			Broker: "RabbitMQ", Queue: "classic",
			Confirms: true, Sync: result.SyncFirst,
		},
		"whether that is on disk is not known": {
			Broker: "RabbitMQ", Queue: "classic",
			Confirms: true, Persistent: true, Sync: result.SyncUnknown,
		},
	} {
		contains(t, "promise",
			report.Promise(&result.Result{Arms: []result.Arm{{Guarantee: h, Broker: "RabbitMQ 4"}}}, 0), want)
	}
}
