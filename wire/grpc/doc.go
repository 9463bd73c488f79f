// Package grpc is gRPC over HTTP/2: how grpc-go is set up at both ends, and what users of gRPC expect in
// addition to a service (health, reflection) for servers of any library. It knows no workload. How connect-go
// is set up is wirelab/wire/connect's business; a binding that offers both libraries joins the two.
//
// # The set-up, the same for plaintext and TLS
//
//   - grpc-go's defaults for what makes it fast or slow: read and write buffers
//     of 32 KiB each, shared write buffer, windows that start at 64 KiB and
//     grow by its bandwidth estimate, no stream workers. A result with those
//     tuned would be another row. (Measured: buffers of 0 cost 70 %, a static
//     stream window alone leaves the connection's at 64 KiB.)
//   - No compression: grpc-go's default, and no compressor is registered here.
//   - [wirelab.MaxStreams] concurrent calls on a connection. The server states it, the client obeys it; grpc-go
//     has no setting for clients.
//   - One connection per client: one address, pick_first.
//   - Messages of at most [MaxMessage] both ways at both ends; a larger one is
//     ResourceExhausted.
//   - No retries and no service config: a failure that the library hid by
//     trying again would be counted as a slow success. What remains is the
//     retry the protocol itself makes safe, of a call that a server going away
//     has said it did not look at.
//   - Calls do not wait for a server to appear: an unreachable one is
//     Unavailable at once. The next attempt to connect comes 100 ms to 1 s
//     later, not up to 120 s, so that a client finds a restarted server.
//   - TLS 1.3 at least, ALPN "h2".
//   - Health (grpc.health.v1) and reflection (v1 and v1alpha) are on.
//
// # Other encodings
//
// Messages that are not Protocol Buffers have the form that a binding gives
// them (wirelab/wire/codec); calls say so by their content type, such as
// application/grpc+avro, and a server speaks one encoding ([Describe],
// [Serve], [CallUnary], [CallServerStream]). Health stays in Protocol
// Buffers, as those who ask it expect; reflection describes nothing else, and
// so is not there.
//
// # Errors
//
// The table between [wirelab.Code] and gRPC's codes is [Encode] and [Decode].
// One thing it cannot make equal: bytes that are no message are Internal to
// grpc-go, at either end, and InvalidArgument to a connect-go server. Where
// messages have a form of their own it is made equal: what cannot be read is
// InvalidArgument in a request, and Internal in a reply, with the form's words.
package grpc
