package html_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"wirelab/lab/plan"
	"wirelab/lab/result/resulttest"
	"wirelab/results/report/html"
)

// Of the largest plans a page shows what decides and what failed; the rest would make it too large to open.
func TestPageOfManyNumbers(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	t.Parallel()
	s := resulttest.Setting{Name: "many", Rounds: 2, Seed: 5}
	for i := range 32 {
		s.Arms = append(s.Arms, resulttest.Arm{
			Name: fmt.Sprintf("arm-%02d", i), Protocol: "grpc", ServerCPU: 20 * time.Microsecond,
			ClientCPU: 15 * time.Microsecond, Response: 100 * time.Microsecond,
		})
	}
	for i := range 8 {
		s.Loads = append(s.Loads, plan.Load{InFlight: i + 1})
	}
	var page strings.Builder
	if err := html.Write(&page, resulttest.Make(s)); err != nil {
		t.Fatal(err)
	}
	text := page.String()
	if n := len(text); n > 3<<20 {
		t.Errorf("the page has %d bytes", n)
	}
	if strings.Contains(text, `<td class=" passed">`) || !strings.Contains(text, "too many for a page") {
		t.Error("checks that passed are listed one by one, or nothing says where they are")
	}
	if !strings.Contains(text, "arm-31") {
		t.Error("an arm is not shown")
	}
}
