package conformance

import (
	"testing"
)

// However many libraries a binding has, each meets another at least once, and
// where every pair is asked for each meets all.
func TestPairs(t *testing.T) {
	for servers := range 5 {
		for clients := range 5 {
			served, dialled, both := map[int]bool{}, map[int]bool{}, map[pair]bool{}
			for _, p := range pairs(servers, clients, false) {
				served[p.server], dialled[p.client], both[p] = true, true, true
				if servers == clients && servers > 1 && p.server == p.client {
					t.Errorf("%d servers, %d clients: library %d meets itself", servers, clients, p.server)
				}
			}
			if servers > 0 && clients > 0 && (len(served) != servers || len(dialled) != clients) {
				t.Errorf("%d servers, %d clients: %d and %d are asked", servers, clients, len(served), len(dialled))
			}
			all := map[pair]bool{}
			for _, p := range pairs(servers, clients, true) {
				all[p] = true
			}
			for p := range both {
				if !all[p] {
					t.Errorf("%d servers, %d clients: %+v is no pair of them", servers, clients, p)
				}
			}
			if len(all) != servers*clients {
				t.Errorf("%d servers, %d clients: %d pairs", servers, clients, len(all))
			}
		}
	}
}
