package conformance

// pair is a server and a client library of one binding, by their places in it.
type pair struct{ server, client int }

// pairs says which libraries of a binding meet: every server with every client,
// or each at its end once. Then they meet crosswise: a library that is at both
// ends of a call may be wrong at both alike, and so agree with itself.
func pairs(servers, clients int, every bool) []pair {
	var all []pair
	if servers == 0 || clients == 0 {
		return nil
	}
	if !every {
		for k := range max(servers, clients) {
			all = append(all, pair{server: k % servers, client: (k + 1) % clients})
		}
		return all
	}
	for i := range servers {
		for j := range clients {
			all = append(all, pair{server: i, client: j})
		}
	}
	return all
}
