package html_test

import (
	"bytes"
	"strings"
	"testing"

	"wirelab/lab/result/resulttest"
	"wirelab/results/report/html"
)

// A search for capacities has no checks of arms: each probe had its own. That nothing was measured would be false.
func TestCapacitiesWereChecked(t *testing.T) {
	t.Parallel()
	var page bytes.Buffer
	if err := html.Write(&page, resulttest.Capacity()); err != nil {
		t.Fatal(err)
	}
	if text := page.String(); strings.Contains(text, "Nothing was measured") ||
		!strings.Contains(text, "Each probe was checked when it was made.") {
		t.Error("the page does not say that the probes were checked")
	}
}
