package bind

import (
	"time"

	"wirelab"
	"wirelab/wire/httpbind"
	"wirelab/wire/httprpc"
	"wirelab/wire/sse"
	"wirelab/workload/ledger"
)

// SSE carries StreamTransactions over HTTP/1.1 as server-sent events, as
// published (docs/origins.md grb-F07).
func SSE() wirelab.Binding[ledger.Service] {
	return sseBinding(httpbind.SSE(), "http1-json")
}

// SSEH2C carries StreamTransactions over HTTP/2 in the clear as server-sent
// events: many streams over one connection, where a browser opens at most six
// over HTTP/1.1.
func SSEH2C() wirelab.Binding[ledger.Service] {
	return sseBinding(httpbind.SSEH2C(), "h2c-json")
}

// sseBinding is the ledger as events; plain is the protocol that carries the
// rest over the same wire.
func sseBinding(c httpbind.Carriage, plain string) wirelab.Binding[ledger.Service] {
	why := "server-sent events are a stream: a call with one reply is plain HTTP, as in " + plain
	b := restOver(c, func(client *httprpc.Client) ledger.Service {
		calls := unimplemented(why)
		calls.streamTransactions = sse.Call(client, pathStream, feedParameters(), eventStream(newRESTCodecs().event))
		return stub{calls}
	})
	b.Holes = map[string]string{"GetBalance": why, "GetBalances": why, "GetTransactions": why, "PostTransaction": why}
	return b
}

// heartbeat is how long a stream may be silent: less than the 30 s and more
// after which proxies give a connection up.
const heartbeat = 15 * time.Second

// retry is how long a reader must wait before it reconnects: long enough to spare a server that is starting,
// and short compared with the seconds that EventSource waits by default.
const retry = 200 * time.Millisecond

// eventStream sends the log as events: "transaction", and "error" if the stream fails, as the published service
// names them, with the id of the transaction as the id of the event. A resumed stream gets a new schedule, starts
// numbering again unless our client made it, and its limit counts anew: the id alone says where a reader was.
func eventStream(codec httprpc.Codec[ledger.Event]) sse.Stream[ledger.Feed, ledger.Event] {
	return sse.Stream[ledger.Feed, ledger.Event]{
		Codec: codec, Name: "transaction", Failure: "error", Heartbeat: heartbeat, AnyOrigin: true,
		Resume: &sse.Resume[ledger.Feed, ledger.Event]{
			Retry: retry,
			ID:    func(e *ledger.Event) string { return e.Transaction.ID },
			After: func(f *ledger.Feed, id string) { f.After = id },
			Rest: func(f *ledger.Feed, n int64) bool {
				if f.Limit == 0 {
					return true
				}
				f.Limit -= n
				return f.Limit > 0
			},
			Shift: func(e *ledger.Event, n int64) { e.Sequence += uint64(n) },
		},
	}
}
