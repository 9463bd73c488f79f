// Package sse carries a stream of replies as server-sent events, the form that
// browsers read with EventSource (WHATWG HTML, "Server-sent events"), over
// HTTP/1.1. It knows the framing of events and, through package httprpc, that
// of calls; it knows no workload.
//
// A call is a GET, since EventSource makes no other, with the request in the
// query. Each reply is an event without a name whose data is JSON; then comes
// an event "end", whose data is an empty object, or "failure", whose data is
// httprpc's error body. EventSource connects again when a stream ends, so a
// page closes it at either. The name "error" is not used because EventSource
// raises events of that name itself. A call that fails before its first event
// is answered with a status, at which EventSource gives up. Events have no id:
// none of these streams can be resumed.
//
// Each event is flushed by itself. Comments, ids and retry times are read and
// passed over. An event of more than httprpc.MessageLimit bytes is refused;
// bufio.Scanner, which most readers use, would stop at 64 KiB.
package sse
