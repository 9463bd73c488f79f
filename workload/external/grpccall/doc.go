// Package grpccall calls any gRPC method with messages that are already encoded: with grpc-go, or with
// connect-go over any HTTP transport, such as the raw driver's. It treats all four kinds of call
// alike: it sends every request message, closes the sending half, and then reads the replies.
// It knows neither a schema nor the rule for a correct reply.
package grpccall
