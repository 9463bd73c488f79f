// Package connect is connect-go over net/http: how it is set up at both ends,
// for the Connect protocol and, with connect.WithGRPC, for gRPC. It knows no
// workload and no procedure.
//
// # The set-up, the same for every protocol that connect-go speaks
//
//   - No compression, at either end: connect-go would otherwise gzip every
//     reply, even one of 100 bytes, and a comparison would measure gzip
//     (measured: a third of the throughput, four fifths of a stream's).
//   - One HTTP version per server and client ([Carrier]), so that a cell cannot
//     quietly speak another than its name says.
//   - HTTP/2: one connection per client, [wirelab.MaxStreams] concurrent calls
//     on it; the server states the number, and a client that has as many in
//     flight waits instead of opening a second connection (package multiplex).
//     A server takes 64 KiB per call ahead of its handler, as grpc-go does at first, since net/http's
//     1 MiB is not safe with small messages (see uploadWindow). The client's
//     windows, frame sizes and buffers are net/http's defaults.
//   - HTTP/1.1: [wirelab.Dialing.ConnectionCount] connections, all kept.
//   - Messages of at most [MaxMessage] both ways at both ends; a larger one is
//     ResourceExhausted.
//   - No retries but net/http's own, of a request on a kept connection that was
//     closed before anything of it was read.
//   - TLS 1.3 at least, ALPN "h2".
//   - A request's header must come within 10 s. Nothing else is timed by the
//     server: how long a call may take is its caller's to say.
//   - Messages that are not Protocol Buffers have the form that a binding gives
//     them ([HandleUnary], [CallUnary]; wirelab/wire/codec).
//
// # Errors
//
// The table between [wirelab.Code] and connect-go's codes is [Encode] and
// [Decode]. connect-go calls a broken connection Canceled, Unknown or Internal,
// depending on where it broke; [Client] makes it Unavailable everywhere, which
// is what grpc-go says too.
package connect
