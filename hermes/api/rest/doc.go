// Package rest is Hermes' API for HTTP: publishing, subscribing by server-sent events, acknowledging, topics,
// groups and the cluster. It turns bytes into calls of [broker.Broker] and back; it knows neither the log nor
// other nodes. What it serves is described by openapi.json, at /v1/openapi.json, to which a test holds it.
//
// # Publishing
//
// POST /v1/topics/{topic}/messages takes one message or a run, by its type:
//
//   - application/octet-stream: the body is the payload. The header Hermes-Key
//     has the key, each Hermes-Header one "name=value"; both percent-encoded.
//   - application/protobuf: a run, as hermes.v1.Run with messages alone. Its
//     bytes go to the log as they are, neither decoded nor copied.
//   - application/json: a message, or {"messages":[…]}. A payload is text
//     ("payload") or bytes ("payload_base64"); so are keys and headers' values.
//
// POST /v1/publish takes JSON for several topics and says of each run whether it was stored. A reply that is
// not a success says by its code whether the outcome is unknown: then publish again with the same producer and
// sequence.
//
// # Subscribing
//
// GET /v1/topics/{topic}/events is a stream of server-sent events, each with the message's offset as its id, so
// that EventSource continues where it broke off (Last-Event-ID). Comments come while nothing else does, the
// first at once after an event "open". A stream ends with an event "failure" which says why; one that ends
// without was cut. There is no queue here: a slow reader is waited for, up to a time to write, and delays no
// other.
//
// With a group, each message is acknowledged by POST to
// /v1/subscriptions/{id}/ack or /nack, whose id the event "open" tells. The feed
// is on the node that delivers; another node sends the caller there (307), or, where callers show
// a token, which they would not show to another host, asks it for them.
// ack=auto acknowledges what was written to the connection, which is not yet
// with the reader: it is for readers who can afford to lose a message.
//
// # Failures and numbers
//
// A failure is a status and a body of application/problem+json (RFC 9457) with the code of package status by
// name. A parameter or field that is unknown is refused. Offsets and counts are JSON numbers, as they count
// from 0; ids of producers and nodes, which may exceed 2^53, are texts. Times are RFC 3339 with nanoseconds,
// durations such as "1m30s".
//
// The time that a call may take is [CallTime], or what the header
// Call-Timeout-Ms says, at most [CallTimeMax].
//
// # Strangers
//
// With a token, all but health, the description and Config.Pages need it. Pages of other
// origins can neither publish nor read unless their origin is named (hb-D25).
// Request bodies that are held at once, subscriptions and values of JSON are
// bounded; beyond, a caller gets resource_exhausted.
//
// # The origin
//
// /publish, /publish/batch, /subscribe, /join and /status are those of the
// system that Hermes goes back to, for its clients; they make topics that are
// not there. What was wrong with them is not kept: a batch says how many were
// stored (hb-D16), bytes that are no text arrive (hb-D28), and a message of a
// group is acknowledged after it was written and not before (hb-D29).
package rest
