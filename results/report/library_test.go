package report_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"wirelab/lab/plan"
	"wirelab/lab/result/analyse"
	"wirelab/lab/result/resulttest"
	"wirelab/results/report"
)

// TestLibraries: what the server costs and what the client's library adds are
// separate lines, of the arms that ran with both drivers and of no others.
func TestLibraries(t *testing.T) {
	t.Parallel()
	arm := func(name, protocol, driver string, client time.Duration) resulttest.Arm {
		return resulttest.Arm{
			Name: name, Protocol: protocol, Driver: driver, Multiplexed: true,
			ServerCPU: 25 * time.Microsecond, ClientCPU: client, Response: 100 * time.Microsecond,
		}
	}
	r := resulttest.Make(resulttest.Setting{
		Name: "libraries", Rounds: 12, Seed: 5, Loads: []plan.Load{{InFlight: 1}},
		Arms: []resulttest.Arm{
			arm("grpc", "grpc", "", 18*time.Microsecond),
			arm("grpc raw", "grpc", plan.DriverRaw, 7*time.Microsecond),
			arm("http", "http1-proto", plan.DriverRaw, 5*time.Microsecond),
			arm("even", "h2c-proto", "", 7*time.Microsecond),
			arm("even raw", "h2c-proto", plan.DriverRaw, 7*time.Microsecond),
		},
	})
	a := analyse.Result(r)
	got := report.Libraries(r, &a.Loads[0])
	want := []string{
		`^grpc: the server costs 2[4-6][.0-9]* µs of CPU per request \(95 % CI .*\); net/http adds 1[01][.0-9]* µs \(95 % CI .*\) to the [67][.0-9]* µs of the raw driver\.$`,
		`^even: .* net/http adds nothing that shows to the [67][.0-9]* µs of the raw driver\.$`,
	}
	if len(got) != len(want) {
		t.Fatalf("%d lines, want %d:\n%s", len(got), len(want), strings.Join(got, "\n"))
	}
	for i, pattern := range want {
		if !regexp.MustCompile(pattern).MatchString(got[i]) {
			t.Errorf("%q, want %s", got[i], pattern)
		}
	}
}
