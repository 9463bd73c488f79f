// Package sse carries a stream of replies as server-sent events, the form that
// browsers read with EventSource (WHATWG HTML, "Server-sent events"), over any
// version of HTTP. It knows the framing of events and, through package httprpc,
// that of calls; it knows no workload.
//
// A call is a GET, since EventSource makes no other, with the request in the
// query. Each reply is an event whose data is JSON; then comes an event "end",
// whose data is an empty object, or "failure", whose data is httprpc's error
// body: a stream that ends without either was cut. A [Stream] may give the
// events other names; "failure" is not "error" by itself because EventSource
// raises events of that name at every broken connection. A call that fails
// before its first event is answered with a status, at which EventSource gives up.
//
// # Resuming
//
// EventSource connects again when a stream ends, however it did, and names the last id that it saw in the
// header Last-Event-ID. Where a [Stream] gives its events ids ([Resume]) the server continues after that one,
// and our client does the same as EventSource by itself, a bounded number of times: nothing is lost or given
// twice, since an event counts once its blank line is there. The end has an id too, [EndID]: who asks to go on
// after it is answered 204, at which EventSource stops. Without ids a page must close its EventSource at the
// end.
//
// # Knobs that matter
//
// Each event is flushed by itself. A [Stream] with a Heartbeat writes a comment when so long nothing came, by
// which proxies keep the connection and a server learns of a reader that is gone; the first comes soon, so that
// a reader knows that it is connected before there is anything to read. There is no queue: a reader that is
// slow holds the service up, and nothing is dropped for it. What cannot be written ends the stream. Comments
// and names this node does not know are passed over. An event of more than httprpc.MessageLimit bytes is
// refused; bufio.Scanner, which most readers use, would stop at 64 KiB.
package sse
