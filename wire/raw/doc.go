// Package raw is the cheapest client per request that we can write, and the
// server with the least work: HTTP/1.1 and HTTP/2 in the clear and over TLS
// 1.3, with what gRPC and Connect lay on HTTP/2; the client also over messages
// behind their lengths. It knows how bytes travel and nothing of what they mean:
// the requests are those that a binding's own stub would send, and replies are
// judged by that stub.
//
// # The client
//
// [Driver] makes a [wirelab.Raw], and [Framed] one without HTTP. One goroutine drives all connections over
// its own epoll, level-triggered, with sockets that Go's poller does not know.
// A turn reads each ready connection once, into one buffer for all, takes
// every reply in it, and writes once what its calls' successors have to say.
// The protocols (conn1, conn2, connFramed) know no sockets: bytes come in and go out, so
// that they can be fuzzed and the servers here share their frames and headers.
//
// Requests are learnt: each check of the series is performed once against the
// stub over a round tripper that writes down the request and answers nothing.
// A reply is right if its bytes are those of a reply to the same request which
// the check has passed before; else the check sees it through the same stub.
// What counts as its bytes are the status, the fields that our stubs read
// (see decisive), the body and the trailers' same; without HTTP, all of them.
//
// What a server has not processed is sent again: calls above the last stream of a
// GOAWAY, refused streams (RFC 9113, 6.8, 8.7), and requests that a kept connection was
// closed under before a byte of a reply (RFC 9112, 9.3.1). Their time counts.
//
// The kernel says when it received the bytes that are read, and the clock is read after writing, so that for
// each call alone on its connection it is known how long it was out of the driver's hands (docs/adr/0055).
//
// # The server
//
// [Null] answers from what a handler said before to the same request: a lookup
// and a copy. What it has not seen it asks the handler, in the same goroutine.
//
// # Limits
//
// A header is at most 16 KiB, a body 16 MiB, either way. There is no pipelining
// on HTTP/1.1. The loop is Linux's; elsewhere Dial fails with Unimplemented.
// Not on offer: requests that are answered while they are sent, compression,
// redirects, HTTP/2 priorities and server push.
package raw
