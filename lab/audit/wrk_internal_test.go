package audit

import "testing"

// A call of wrk that was late and then refused is one failed call, not two.
func TestWrkCountsACallOnce(t *testing.T) {
	t.Parallel()
	const head = "Running 10s test @ http://x\n  2 threads and 10 connections\n  735 requests in 10.00s, 1MB read\n"
	for text, want := range map[string]uint64{
		"  Socket errors: connect 0, read 0, write 0, timeout 735\n  Non-2xx or 3xx responses: 735\n": 735,
		"  Socket errors: connect 1, read 2, write 3, timeout 4\n":                                    10,
		"  Socket errors: connect 1, read 2, write 3, timeout 4\n  Non-2xx or 3xx responses: 9\n":     15,
		"  Non-2xx or 3xx responses: 9\n":                                                             9,
		"":                                                                                            0,
	} {
		if r := parseWrk(head + text); r.Errors == nil || *r.Errors != want {
			t.Errorf("%q: %v errors, want %d", text, r.Errors, want)
		}
	}
}
