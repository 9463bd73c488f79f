package main

import (
	"errors"
	"strings"
	"testing"

	"wirelab/cli/clitest"
	"wirelab/result/resulttest"
	"wirelab/store/sqlite"
)

// A name that is known, but not in the place where it was written, is said to be what it is.
func TestNamesInWrongPlaces(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	compare := "compare grpc http1-json -w routeguide.GetFeature "
	for line, says := range map[string]string{
		"compare grpc kafka -w routeguide.GetFeature":               "kafka is a message broker: it belongs to the workload messaging, and not to routeguide",
		"capacity kafka -w routeguide.GetFeature --slo p99<5ms":     "it belongs to the workload messaging",
		"compare kafka nats-jetstream -w logging.WriteLog":          "it belongs to the workload messaging, and not to logging",
		"compare grpc http1-json -w messaging":                      "grpc is a protocol of directory, ledger, logging, routeguide;",
		"compare log-grpc grpc -w routeguide.GetFeature":            "log-grpc is a protocol of logging;",
		"call routeguide.GetFeature --protocol kafka":               "kafka is a protocol of messaging;",
		"compare grpc,client=kafka grpc -w routeguide.GetFeature":   "kafka is a protocol of messaging;",
		"compare grpc,driver=kafka grpc -w routeguide.GetFeature":   `unknown driver "kafka"; kafka is a protocol of messaging;`,
		"compare grpc http1-json -w routeguide":                     "routeguide is a workload: --workload routeguide.GetFeature;",
		"compare grpc http1-json -w quick":                          "quick is a preset: wirelab run quick;",
		"curve grpc -w grpc":                                        "grpc is a protocol of ",
		"run grpc":                                                  "grpc is a protocol of ",
		"presets routeguide":                                        "routeguide is a workload",
		"matrix quick":                                              "quick is a preset: wirelab run quick;",
		"explain quick":                                             "quick is a preset: wirelab run quick;",
		"results show quick":                                        "quick is a preset: wirelab run quick;",
		"up logging --broker postgres":                              "postgres is a database: --db postgres;",
		"compare hermes-grpc kafka -w messaging --scenario lan":     "lan is a network: --network lan;",
		compare + "--network live":                                  "live is a scenario of messaging: --scenario live;",
		compare + "--network p99":                                   "p99 is a metric",
		compare + "--primary lan":                                   "lan is a network: --network lan;",
		compare + "--fail-if lan>5ms":                               "lan is a network: --network lan;",
		"matrix ledger.GetBalance":                                  "ledger.GetBalance is an operation: --workload ledger.GetBalance",
		"selftest --only routeguide":                                "routeguide is a workload",
		"compare grpc http1-json -w routeguide.GetFeature -w ledge": `unknown operation "ledge"; want`,
	} {
		o := s.run(strings.Fields(line)...)
		clitest.Refused(t, line, o.code, o.stderr)
		if o.code != exitUsage || !strings.Contains(o.stderr, says) {
			t.Errorf("%s: exit code %d, says %q; want %d, %q", line, o.code, o.stderr, exitUsage, says)
		}
	}
}

// A result that is not there is answered with the ids and the names that are like what was written.
func TestLikelyResults(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	r := resulttest.Short(2)
	kept, err := sqlite.Open(t.Context(), s.env["WIRELAB_STORE"])
	if err == nil {
		err = errors.Join(kept.Put(t.Context(), r), kept.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	s.run("results", "name", r.ID, "before").wants(t, exitOK, nil, nil)
	near, far := r.ID[:len(r.ID)-1]+"x", "r-19990101-000000-0000"
	for _, line := range []string{"results show", "results rm", "results export", "report", "verify", "replay", "results name"} {
		for written, says := range map[string]string{
			near: "did you mean " + r.ID + "?", "beforee": "did you mean before?", far: "the latest are " + r.ID,
		} {
			o := s.run(append(strings.Fields(line), written)...)
			clitest.Refused(t, line+" "+written, o.code, o.stderr)
			if want := `no result "` + written + `"; ` + says; o.code != exitUsage || !strings.Contains(o.stderr, want) {
				t.Errorf("%s %s: exit code %d, says %q; want %d, %q", line, written, o.code, o.stderr, exitUsage, want)
			}
		}
	}
}
