package dashboard

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"wirelab/lab/result/analyse"
	"wirelab/lab/result/resulttest"
	"wirelab/results/report"
)

// struck is how pages mark a refused value.
var struck = regexp.MustCompile(`(?s)<s class="refused-value".*?</s>`)

// What a check refused is in no plain field of the API, in no column of its CSV and,
// without its mark, on no page, whatever the kind of its result.
func TestRefusedValuesAreInNoPlainField(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	results := open(t)
	s := serve(t, results, "")
	n := 0
	for name, r := range resulttest.Refused() {
		n++
		r.Rounds = r.Rounds[:min(4, len(r.Rounds))] // what claims need more for is walked over in package report
		r.Environment.Host = name                   // histories, lists and comparisons are of one kind
		// the result is compared with this one; two rounds are enough for refused values in it, too
		before := *r
		before.Rounds = slices.Clone(r.Rounds[:min(2, len(r.Rounds))])
		put(t, results, at(&before, 2*n, first))
		a := analyse.Result(r)
		values := resulttest.RefusedValues(&a)
		if len(values) == 0 {
			t.Errorf("%s has no refused value", name)
		}
		again := *r
		again.Rounds = slices.Clone(r.Rounds)
		put(t, results, at(&again, 2*n+1, first.AddDate(0, 0, 1)))
		addresses := []string{
			"/?machine=" + name, "/results/" + again.ID, "/results/" + again.ID + "/report.html",
			comparing([]string{again.ID, before.ID}), "/api/v1/results?machine=" + name, "/api/v1/results/" + again.ID,
		}
		for i := range a.Loads[:min(1, len(a.Loads))] {
			l := &a.Loads[i]
			of := url.Values{
				"machine": {name}, "workload": {r.Plan.Workload},
				"operation": {r.Plan.OperationOf(r.Plan.Loads[l.Load])},
				"arm":       {armText(r.Plan, 1)}, "load": {loadText(r.Plan, l.Load)},
			}
			addresses = append(addresses, "/history?"+of.Encode(), "/history.csv?"+of.Encode())
			for _, m := range report.Main(l) {
				of.Set("metric", m.ID)
				addresses = append(addresses, "/api/v1/history?"+of.Encode())
			}
		}
		for _, address := range addresses {
			reply := s.get(address)
			if reply.status != 200 {
				t.Errorf("%s: %d %s", address, reply.status, reply.body)
			}
			text := struck.ReplaceAllString(reply.body, "")
			if strings.HasPrefix(address, "/api/") {
				var err error
				if text, err = resulttest.WithoutRefused([]byte(text)); err != nil {
					t.Errorf("%s: %v", address, err)
				}
			}
			for value := range values {
				if strings.Contains(text, value) {
					t.Errorf("%s: the refused value %s is there without a mark", address, value)
				}
			}
		}
		// The form of the first benchmark is in other units: its fields must be null.
		for _, one := range decoded[ranList](t, s.get("/api/v1/results?machine="+name+"&run_id="+again.ID)).Results {
			if one.Arm != r.ArmName(1) {
				continue
			}
			for field, value := range map[string]*float64{
				"throughput": one.Throughput, "p50": one.P50, "p90": one.P90, "p99": one.P99, "average": one.Average,
				"least": one.Least, "most": one.Most, "cpu": one.CPU,
			} {
				if value != nil {
					t.Errorf("%s, %s: the refused %s is %v in the first benchmark's form", name, one.RunID, field,
						*value)
				}
			}
		}
	}
}
