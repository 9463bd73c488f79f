package report_test

import (
	"testing"

	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/results/report"
)

// An arm of a service that is not ours says what is known of it: neither a server library nor an encoding.
func TestArmOfAServiceOfOthers(t *testing.T) {
	t.Parallel()
	arm := result.Arm{Name: "rest", Transport: "HTTP/1.1", Encoding: "as given", Client: "net/http", Style: "generic"}
	r := &result.Result{Plan: plan.Plan{
		Arms:     []plan.Arm{{Protocol: "rest"}},
		External: []plan.External{{File: "shop.yaml"}},
	}, Arms: []result.Arm{arm}}
	if got := report.Arm(r, 0); got != "HTTP/1.1, client net/http" {
		t.Errorf("%q", got)
	}
	r.Plan.Arms[0].Target = "127.0.0.1:8080"
	if got := report.Arm(r, 0); got != "HTTP/1.1, client net/http, server unknown, at 127.0.0.1:8080" {
		t.Errorf("%q", got)
	}
}
