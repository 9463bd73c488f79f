// Package httprpc carries calls over HTTP, whatever its version: one POST per call, the operation in the path,
// the message in the body; or as resources have it, by path and method. It knows content types, status codes
// and the framing of streams; it knows no workload, no library of Avro, and of the HTTP version only what the
// packages http1, http2 and http3 tell it.
//
// # The wire
//
// A unary call is the style of its published origin, so that clients of that
// work unchanged (docs/origins.md duh-F07, duh-F08):
//
//   - The request's encoding is its Content-Type: application/json (also when
//     absent), application/protobuf (also application/x-protobuf) or
//     avro/binary (also application/avro), of which a service offers some.
//   - The reply's encoding is the first of Accept that is known, and the
//     request's where Accept is absent or a wildcard. The origin answers a
//     protobuf request without Accept in JSON, by which its own experiment
//     paid for JSON twice (duh-M01); this does not.
//   - A failure is a status of the table in error.go and a body of code,
//     message and details, in the reply's encoding. details holds the
//     [wirelab.Code] by name, since the statuses are fewer than the codes.
//   - The header Call-Timeout-Ms holds the time the caller still has, and ends
//     the server's context. A caller without a deadline sends none.
//   - Everything else a caller can get wrong is answered too: an unknown path
//     501, a method 405, a body above [MessageLimit] 413, a content type or a
//     body that cannot be read 513.
//
// A stream of messages is lines of JSON, application/x-ndjson, flushed one by
// one: {"result":…} for each message, then {"end":true}, or {"error":…} with
// the body above. HTTP can end a body early in ways that look like its end
// (a proxy, an HTTP/1.0 hop), so a stream without its last line has failed.
// A failure before the first message is a status, as for unary calls. There is
// no agreed framing of protobuf messages in an HTTP body other than those of
// gRPC and Connect, which are protocols of their own here.
//
// # Resources
//
// In addition there are paths with variables, and a method that says whatever is to be done there ([NewREST]).
// A GET has its whole request in the URL, and what it cannot place is refused: an unknown parameter, one given
// twice, a number that is none, a broken escape, a body. Encodings, failures and deadlines are those above;
// only codes that HTTP has statuses for are shown by these: an unknown path 404, a content type 415, an Accept
// 406, a body that cannot be read 400. A caller that must tell an unknown path from something that is not there
// looks at the code, Unimplemented or NotFound. An empty segment is no variable. A stream may have its request
// in the URL too ([GetStream]), and several framings, of which Accept says one; [Health] is for anyone who
// watches a server, and [Described] for anyone who asks what it serves. net/http sends a GET again, on another
// connection, where the server closed the kept one before it answered; a POST it does not.
//
// # Knobs that matter
//
// Bodies are never compressed: a 100 byte message gains nothing, and libraries
// differ in their defaults. Every body is read to its end, or its HTTP/1.1
// connection would be thrown away (duh-M08). A request's header must arrive in
// 10 s and its body in 1 min; an idle connection is closed after 5 min, which
// no pause of an experiment should reach. There is no limit on how long a
// reply may take to be read: a slow reader holds one call, whose memory flow
// control bounds, until its deadline or the server's stop.
package httprpc
