// Package rest is the HTTP API of Hermes: publishing, subscribing by server-sent events, acknowledging, topics,
// groups and the cluster. It turns bytes into calls of [broker.Broker] and back; it knows neither the log nor
// other nodes. openapi.json describes the API, is served at /v1/openapi.json, and is compared with it by a test.
//
// # Publishing
//
// POST /v1/topics/{topic}/messages takes one message or a run, depending on the content type:
//
//   - application/octet-stream: the body is the payload. The header Hermes-Key
//     has the key, each header Hermes-Header one "name=value"; both are percent-encoded.
//   - application/protobuf: a run, as a hermes.v1.Run that has only messages. Its
//     bytes go to the log unchanged, neither decoded nor copied.
//   - application/json: a message, or {"messages":[…]}. A payload is text
//     ("payload") or bytes ("payload_base64"); so are keys and the values of headers.
//
// POST /v1/publish takes JSON for several topics, and says for each run whether it was stored. The code of an
// error says whether the outcome is unknown: in that case, publish again with the same producer and
// sequence.
//
// # Subscribing
//
// GET /v1/topics/{topic}/events is a stream of server-sent events. The id of each event is the message's offset, so
// that EventSource continues where it was interrupted (Last-Event-ID). The stream sends comments when it has nothing
// else to send, the first one directly after an event "open". A stream ends with an event "failure" that gives the
// reason; a stream that ends without it was cut. There is no queue here: a slow reader is waited for, up to a
// write timeout, and delays no other reader.
//
// With a group, each message is acknowledged by POST to
// /v1/subscriptions/{id}/ack or /nack, with the id from the event "open". The subscription
// is on the node that delivers. Another node redirects the caller there (307). If callers show
// a token, which they would not send to another host, it forwards the call instead.
// ack=auto acknowledges what was written to the connection, which has not necessarily
// reached the reader: it is for readers that can afford to lose a message.
//
// # Errors and numbers
//
// An error is a status and a body of application/problem+json (RFC 9457) with the name of its code of package
// status. An unknown parameter or field is refused. Offsets and counts are JSON numbers, because they count
// from 0; ids of producers and nodes, which may exceed 2^53, are text. Times are RFC 3339 with nanoseconds; a
// duration looks like "1m30s".
//
// A call may take [CallTime], or the time in the header Call-Timeout-Ms, at most [CallTimeMax].
//
// # Access
//
// With a token, everything except health, the description and Config.Pages needs it. Pages of other
// origins can neither publish nor read, unless their origin is named (hb-D25).
// The memory of request bodies, the subscriptions and the values in JSON are
// bounded; beyond the limit, a caller gets resource_exhausted.
//
// # The origin
//
// /publish, /publish/batch, /subscribe, /join and /status are the paths of the
// system that Hermes descends from, for its clients; they create topics that do
// not exist. Its faults are fixed: a batch says how many messages were
// stored (hb-D16), bytes that are not text arrive (hb-D28), and a message of a
// group is acknowledged after it was written, and not before (hb-D29).
package rest
