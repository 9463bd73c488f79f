package admit_test

import (
	"runtime"
	"strings"
	"testing"

	"wirelab/lab/result/consistency"
	"wirelab/lab/result/resulttest"
	"wirelab/results/admit"
	report "wirelab/results/report/json"
	"wirelab/results/report/verify"
	"wirelab/results/store"
)

// Admission of a document costs the memory of decoding and checking it, and little more: no tree of it, and no copies
// of the whole document. All allocated bytes are counted, since the bytes held at one moment depend on the collector.
func TestAdmissionMakesFewCopies(t *testing.T) {
	var out strings.Builder
	if err := report.Write(&out, resulttest.Closed()); err != nil {
		t.Fatal(err)
	}
	text := []byte(out.String())
	alone, _, err := verify.Split(text)
	if err != nil {
		t.Fatal(err)
	}
	taken := func(do func() error) int {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if err := do(); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		return int(after.TotalAlloc - before.TotalAlloc)
	}
	admission := func() error { _, err := admit.Result(text); return err }
	checks := func() error {
		r, err := store.Decode(alone)
		if err == nil {
			consistency.Flaws(r)
		}
		return err
	}
	taken(checks) // the first time, types are looked up
	taken(admission)
	must, all := taken(checks), taken(admission)
	t.Logf("document %d, result %d: checks %d, admission %d", len(text), len(alone), must, all)
	if extra := all - must; extra > 2*len(text) {
		t.Errorf("%d bytes were allocated in addition to decoding and checking, for a document of %d", extra, len(text))
	}
}
