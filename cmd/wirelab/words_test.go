package main

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wirelab/cmd/internal/cli/clitest"
	"wirelab/cmd/internal/desk"
	"wirelab/internal/porttest"
)

// Bad command lines end with a line in our words, and never with 0. "TAKEN" is an address that another
// program listens at, "CLOSED" one where nobody does, "SILENT" one that takes connections and never answers,
// "DIR" a folder with a file "text" and a file "half.yaml".
func TestBadCommandLines(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	dir := filepath.Dir(s.env["WIRELAB_STORE"])
	for name, text := range map[string]string{
		"text": "no result, plan or recording\n", "half.yaml": "workload: [\n",
		"half.json": `{"x":`, "other.json": `{"x":1}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, line := range badLines {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			o := s.run(strings.Fields(strings.ReplaceAll(line, "DIR", dir))...)
			clitest.Refused(t, line, o.code, o.stderr)
		})
	}
}

var badLines = strings.Split(strings.TrimSpace(`
comapre
-x
--nosuch
help foo
help results foo
help compare foo
completion foo
completion bash more
results shw
up loging
chaos foo
db foo
arrivals nosuch
compare
compare grpc http1-json
compare rest grpc -w routeguide.GetFeature
compare http grpc -w routeguide.GetFeature
compare grpc http1-json -w shop.Cart
compare grpc http1-json -w routeguide
compare grpc http1-json -w routeguide.getfeature
compare grpc,clent=x grpc -w routeguide.GetFeature
compare grpc,client=connect grpc -w routeguide.GetFeature
compare grpc kafka -w routeguide.GetFeature
compare grpc grpc -w routeguide.GetFeature --proto x
compare grpc grpc -w routeguide.GetFeature --in-flight 2 --rate 5
compare grpc grpc -w routeguide.GetFeature --in-flight x
compare grpc grpc -w routeguide.GetFeature --rate
compare grpc grpc -w routeguide.GetFeature --rate x
compare grpc grpc -w routeguide.GetFeature --for 60
compare grpc grpc -w routeguide.GetFeature --for tomorrow
compare grpc grpc -w routeguide.GetFeature --rounds x
compare grpc grpc -w routeguide.GetFeature --rounds 100000000
compare grpc grpc -w routeguide.GetFeature --seed -1
compare grpc grpc -w routeguide.GetFeature --until much
compare grpc grpc -w routeguide.GetFeature --spread x
compare grpc grpc -w routeguide.GetFeature --json=maybe
compare grpc grpc -w routeguide.GetFeature --certificate nw
compare grpc grpc -w routeguide.GetFeature --network 4g
compare grpc grpc -w routeguide.GetFeature --network rtt=40
compare grpc grpc -w routeguide.GetFeature --fail-if latency>5ms
compare grpc grpc -w routeguide.GetFeature --fail-if p99
compare grpc grpc -w routeguide.GetFeature --fail-if p99>5
compare grpc grpc -w routeguide.GetFeature --primary latency
compare grpc grpc -w routeguide.GetFeature --requests x
compare grpc grpc -w routeguide.GetFeature --streams 5
compare grpc grpc -w directory.GetPerson --data 5
compare grpc grpc -w ledger.GetBalance --db mysql
compare grpc grpc -w routeguide.GetFeature --scenario live
compare hermes-grpc kafka -w messaging --scenario lve
compare hermes-grpc hermes-rest -w messaging --durability sync
run
run qick
run DIR/absent.yaml
presets nosuch
matrix nosuch
capacity grpc
capacity grpc -w routeguide.GetFeature --slo foo
curve grpc -w routeguide.GetFeature --rates foo
curve grpc -w routeguide.GetFeature --rates 1k --to 5k
explain nosuch
explain routeguide.GetFeature --format x
decide
decide nosuch
report nosuch
report latest --format md
replay nosuch
results show zzz
results rm zzz
results export --format md
results push --all
results list --since yesterday
results list --limit x
call
call routeguide.GetFeature
call routeguide.foo --protocol grpc
call foo
call routeguide.GetFeature --protocol grpc
call routeguide.GetFeature --protocol rest --target 127.0.0.1:1
call routeguide.GetFeature --protocol grpc --target nohost
serve routeguide
serve routguide grpc
serve routeguide rest
serve routeguide grpc --addr nohost
serve-results --addr nohost
serve-results more
up logging --broker kafka
up messaging --durability x
selftest --only x
audit
audit --tool
doctor more
version more
`), "\n")

// One fault has one text and one exit code, whichever command meets it. TAKEN is an address that another program
// listens at, CLOSED one where nothing does.
func TestOneFaultOneText(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	taken := listening(t)
	dir := filepath.Dir(s.env["WIRELAB_STORE"])
	clitest.OneText(t, []clitest.Fault{
		{
			Code: desk.ExitFailed, Says: "cannot listen at TAKEN: another program uses this port; choose another --",
			Lines: []string{
				"serve routeguide grpc --addr TAKEN", "serve-results --addr TAKEN",
				"up logging --broker none --addr TAKEN",
				"relay --listen TAKEN --to CLOSED --network lan",
			},
		},
		{Code: desk.ExitFailed, Says: "nothing listens at CLOSED", Lines: []string{
			"call routeguide.GetFeature --protocol grpc --target CLOSED",
			"call routeguide.GetFeature --protocol http1-json --target CLOSED",
			"call routeguide.GetFeature --protocol netrpc --target CLOSED",
			"call routeguide.GetFeature --protocol websocket --target CLOSED",
		}},
		{Code: desk.ExitUsage, Says: "there is no file or folder DIR/absent", Lines: []string{
			"run DIR/absent.yaml", "results import DIR/absent", "verify DIR/absent",
			"results list --results DIR/absent",
			"results show --results DIR/absent", "results pull --all --from DIR/absent",
			"compare grpc grpc -w routeguide.GetFeature --rate 5 --arrivals DIR/absent",
			"call routeguide.GetFeature --protocol grpc-tls --target CLOSED --ca DIR/absent",
			"call routeguide.GetFeature --protocol grpc --target CLOSED --request @DIR/absent",
		}},
	}, strings.NewReplacer("TAKEN", taken.Addr().String(), "CLOSED", porttest.Refusing(t), "DIR", dir).Replace, s.says)
}

// refuses checks the errors of wrong command lines.
func (s *shell) refuses(t *testing.T, says map[string]string) {
	t.Helper()
	var faults []clitest.Fault
	for line, text := range says {
		faults = append(faults, clitest.Fault{Code: desk.ExitUsage, Says: text, Lines: []string{line}})
	}
	clitest.OneText(t, faults, strings.Clone, s.says)
}

// says runs a command, and gives its exit code and standard error.
func (s *shell) says(args ...string) (code int, stderr string) {
	o := s.run(args...)
	return o.code, o.stderr
}

func listening(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() }) // one is closed already
	return l
}
