// Package grpc is the gRPC API of a node: the services of hermes.proto, those of the broker that Hermes descends
// from, health checks and reflection. It turns bytes into calls of broker.Broker and replies into bytes, and knows no
// log, no cluster and no disk.
//
// # Publishing
//
// A run is checked here as a whole, and passed on as the bytes that arrived. PublishStream takes many runs in one
// frame, of any number of topics, and answers each run when it is acknowledged, many answers in one frame. At
// most [StreamRuns] runs and about [StreamBytes] bytes of one stream may be unanswered; beyond that, the stream is not
// read. A malformed frame ends its stream with InvalidArgument, after the answers to the frames before
// it; a run that is refused gets an answer, and the stream continues.
//
// # Subscribing
//
// The first Delivery has no messages and has live set: the subscriber is registered. Its
// offset is not after the first message to come, so that a subscriber at the
// tail can continue from there if it loses the stream before it got a message.
//
// Credit counts down by messages and by bytes. If only one of the two was ever given, only that one counts; if
// neither was given, nothing is delivered. The last message may exceed the bytes. Acks and nacks are processed in
// order, and acks that arrive while one is processed are combined; settled counts the processed ones. If a client
// closes its half, its acks are processed and the stream ends cleanly: so the client knows that they are stored. Any
// other end has a status with the reason.
//
// # Hints
//
// A node that does not lead answers calls too, and names the leader in the header x-leader-hint: the address of
// the leader's gRPC API. On a PublishStream, the first verdict after a change of leader names the new leader too, so
// that a publisher may go there.
package grpc
