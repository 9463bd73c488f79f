// Package exchange is one call at a time over a connection that keeps message
// boundaries: the protocol that the wires rawtcp and websocket share. It knows
// operations by number and payloads as bytes; it knows neither how a message
// is framed nor what an operation means.
//
// # The protocol
//
// Every message is a kind (one byte) and what belongs to it:
//
//	1 call     client  operation (one byte), timeout (unsigned varint,
//	                   microseconds, 0 for none), payload
//	2 item     both    payload
//	3 end      both    nothing: no more items from this side
//	4 last     server  payload: the only item, and the end
//	5 failure  server  code (one byte, see failure.go), message (UTF-8 text)
//
// A client sends a call. For an operation without a request stream its payload
// is the request and nothing follows; for the others the payload is empty and
// items follow, then an end. The server answers with a last (operations that
// reply once), with items and an end (the others), or with a failure, which
// may come at any time and ends the call. A server that ends a call early
// skips what the client still sends up to its end; so the connection can be
// used again by a client that then sends its end.
//
// A client gives a call up by closing its connection, which one call at a time
// makes cheap to express and costs a new connection. The server notices, and
// ends the call's context, when it reads, when it writes, and within
// [watchDelay] otherwise. It reads at most [aheadMessages] messages and
// [aheadBytes] bytes (one message may exceed that) ahead of its service to
// find out: a client that goes away behind more requests than that, which the
// service does not read, is noticed only when the service reads on or the
// call's time is over.
//
// A connection that ends anywhere but between calls is a failed call with
// Unavailable: no reply is complete without its last, end or failure.
//
// # Knobs that matter
//
// A message takes at most [MessageLimit] bytes, on both sides; the sender
// refuses with ResourceExhausted before it writes. A server answers one call
// at a time on a connection, which is far below [wirelab.MaxStreams]; the
// number of its connections is bounded by the process's open files alone. A
// client opens at most Dialing.Connections connections, each when it is first
// needed, and keeps them; calls beyond them wait their turn, first come first
// served. A connection the server closed while it was idle is replaced without
// a failed call, if that was at least [watchDelay] ago. One message is one
// write: no batching, so that each costs what it costs.
package exchange
