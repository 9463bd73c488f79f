package main

import (
	"testing"

	"wirelab/cmd/internal/desk"
	"wirelab/lab/result/resulttest"
)

// A name that is known, but not in the place where it was written, is said to be what it is.
func TestNamesInWrongPlaces(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	t.Parallel()
	s := newShell(t)
	compare := "compare grpc http1-json -w routeguide.GetFeature "
	s.refuses(t, map[string]string{
		"compare grpc kafka -w routeguide.GetFeature": "kafka is a message broker: it belongs to the " +
			"workload messaging, and not to routeguide",
		"capacity kafka -w routeguide.GetFeature --slo p99<5ms": "it belongs to the workload messaging",
		"compare kafka nats-jetstream -w logging.WriteLog": "it belongs to the workload messaging, and not " +
			"to logging",
		"compare grpc http1-json -w messaging": "grpc is a protocol of directory, ledger, " +
			"logging, routeguide;",
		"compare log-grpc grpc -w routeguide.GetFeature":          "log-grpc is a protocol of logging;",
		"call routeguide.GetFeature --protocol kafka":             "kafka is a protocol of messaging;",
		"compare grpc,client=kafka grpc -w routeguide.GetFeature": "kafka is a protocol of messaging;",
		"compare grpc,driver=kafka grpc -w " +
			"routeguide.GetFeature": `unknown driver "kafka"; kafka is a protocol of messaging;`,
		"compare grpc http1-json -w routeguide": "routeguide is a workload: --workload " +
			"routeguide.GetFeature;",
		"compare grpc http1-json -w quick": "quick is a preset: wirelab run quick;",
		"curve grpc -w grpc":               "grpc is a protocol of ",
		"run grpc":                         "grpc is a protocol of ",
		"presets routeguide":               "routeguide is a workload",
		"matrix quick":                     "quick is a preset: wirelab run quick;",
		"explain quick":                    "quick is a preset: wirelab run quick;",
		"results show quick":               "quick is a preset: wirelab run quick;",
		"up logging --broker postgres":     "postgres is a database: --db postgres;",
		"compare hermes-grpc kafka -w messaging --scenario lan": "lan is a network: --network lan;",
		compare + "--network live": "live is a scenario of messaging: " +
			"--scenario live;",
		compare + "--network p99":     "p99 is a metric",
		compare + "--primary lan":     "lan is a network: --network lan;",
		compare + "--fail-if lan>5ms": "lan is a network: --network lan;",
		"matrix ledger.GetBalance": "ledger.GetBalance is an operation: --workload " +
			"ledger.GetBalance",
		"selftest --only routeguide":                                "routeguide is a workload",
		"compare grpc http1-json -w routeguide.GetFeature -w ledge": `unknown operation "ledge"; want`,
	})
}

// A name of work in the place of an arm, and a protocol in the place of work, is answered with how to write it,
// before the flag is asked for that is missing.
func TestWorkAndProtocolsAreConfused(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.refuses(t, map[string]string{
		"compare routeguide.GetFeature grpc": "routeguide.GetFeature is an operation, not an " +
			"arm; write it as -w routeguide.GetFeature: wirelab compare grpc -w routeguide.GetFeature;",
		"compare grpc ListFeatures http1-json": "ListFeatures is an operation, not an arm; write " +
			"it as -w routeguide.ListFeatures: wirelab compare grpc http1-json -w routeguide.ListFeatures;",
		"compare routeguide grpc": "routeguide is a workload, not an arm; write it as " +
			"-w routeguide.GetFeature: ",
		"compare messaging hermes-grpc": "messaging is a workload, not an arm; write it as " +
			"-w messaging: wirelab compare hermes-grpc -w messaging;",
		"compare ledger.GetBalance,driver=raw": "write it as -w ledger.GetBalance: wirelab compare " +
			"ARM -w ledger.GetBalance;",
		"compare routeguide.GetFeature grpc -w ledger.GetBalance": "routeguide.GetFeature is an operation, not an " +
			"arm; the work is already given, as --workload ledger.GetBalance;",
		"curve directory.GetPerson grpc": "write it as -w directory.GetPerson: wirelab curve " +
			"grpc -w directory.GetPerson;",
		"capacity directory.GetPerson grpc":               "write it as -w directory.GetPerson: ",
		"capacity directory.GetPerson grpc --slo p99<5ms": "write it as -w directory.GetPerson: ",
		"serve routeguide.GetFeature grpc": "a server has all operations of its workload: " +
			"wirelab serve routeguide grpc;",
		"serve routeguide.GetFeature": "a server has all operations of its workload: " +
			"wirelab serve routeguide PROTOCOL;",
		"serve grpc ledger": "grpc is a protocol; the workload comes before it: " +
			"wirelab serve ledger grpc;",
		"serve log-grpc": "log-grpc is a protocol; the workload comes before " +
			"it: wirelab serve logging log-grpc;",
		"call routeguide.GetFeature grpc": "grpc is a protocol, not an operation; write it as " +
			"--protocol grpc",
		"call grpc": "grpc is a protocol, not an operation; write it as " +
			"--protocol grpc",
		"explain directory.GetPerson grpc": "grpc is a protocol, not an operation; explain " +
			"takes an operation, such as directory.GetPerson, and chooses the protocols",
		"explain grpc": "grpc is a protocol of ",
	})
}

// A result that is not there is answered with the ids and the names that are like what was written.
func TestLikelyResults(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	t.Parallel()
	s, _ := storing(t)
	r := resulttest.Short(2) // which the store holds
	s.run("results", "name", r.ID, "before").wants(t, desk.ExitOK, nil, nil)
	near, far := r.ID[:len(r.ID)-1]+"x", "r-19990101-000000-0000"
	for _, line := range []string{
		"results show", "results rm", "results export", "report", "verify", "replay",
		"results name",
	} {
		for written, says := range map[string]string{
			near: "did you mean " + r.ID + "?", "beforee": "did you mean before?", far: "the latest are " + r.ID,
		} {
			s.refuses(t, map[string]string{line + " " + written: `no result "` + written + `"; ` + says})
		}
	}
}
