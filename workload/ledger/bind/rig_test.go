package bind_test

import (
	"testing"
	"time"

	"wirelab/wire/conformance"
	"wirelab/workload/ledger"
	"wirelab/workload/ledger/bind"
)

// patience bounds waits for what must happen; nothing passes by being quicker.
const patience = time.Minute

// pair is a binding with a server and the client that it is called by.
type pair = conformance.Pair[ledger.Service]

// eachServer runs test for every server of every binding that carries the
// operation; "" for any.
func eachServer(t *testing.T, operation string, test func(t *testing.T, p pair)) {
	t.Helper()
	for _, b := range bind.Bindings() {
		if _, hole := b.Holes[operation]; hole {
			continue
		}
		for _, server := range b.Servers {
			t.Run(b.Protocol.Name+"/"+server.Library, func(t *testing.T) {
				test(t, pair{Binding: b, Server: server, Client: b.Clients[0]})
			})
		}
	}
}
