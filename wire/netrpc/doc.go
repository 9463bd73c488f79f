// Package netrpc carries unary calls by the standard library's net/rpc with
// gob. It adds what net/rpc leaves out, and what a service may not be without:
// deadlines, cancellation, error codes, bounds, recovery and a stop that
// drains. It knows neither the services nor the types of their messages.
//
// # The wire
//
// It is net/rpc's own: a gob stream of headers and bodies each way over TCP,
// many calls at once on one connection. Arguments are a [Request], replies a
// [Reply]. net/rpc's error is text, so that a code could only be guessed from
// it: failures travel in the reply instead, as a [Failure]. net/rpc's own
// error is left to mean that the method does not exist.
//
// The time a caller has left travels in the request. A caller who gives up calls Control.Cancel with the
// sequence number of the call; closing the connection, which is all net/rpc has for that, would end everyone's
// calls.
//
// There are no streams: net/rpc has none.
//
// # Knobs that matter
//
// At most [wirelab.MaxStreams] calls are in flight on a connection: the client waits before it sends more and
// the server before it reads more. A header and its body take at most [MessageLimit] bytes; more ends the
// connection, since a gob stream with a hole in it cannot be read on. A write that makes no progress for
// [writeStall] ends the connection; so a call may be late by as much when a server stops reading. The client
// opens one connection when it is first needed and another when that one is gone; a call that was not sent yet
// moves over, one that was fails with Unavailable. Names and types of fields are the wire's: gob matches fields
// by name, leaves out zero values, and so reads absent fields as zero.
package netrpc
