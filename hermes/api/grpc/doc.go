// Package grpc is the gRPC API of a node: hermes.proto's services, those of the broker that Hermes descends
// from, health and reflection. It turns bytes into calls of broker.Broker and answers into bytes, and knows no
// log, no cluster and no disk.
//
// # Publishing
//
// A run is checked here, whole, and handed on as the bytes that came. PublishStream takes many runs in one
// frame, of as many topics, and answers each as its acknowledgement comes true, many answers in one frame; at
// most [StreamRuns] runs and about [StreamBytes] bytes of one stream are unanswered, then the stream is not
// read on. A frame that is malformed ends its stream with InvalidArgument, after the answers to those before
// it; a run that is refused is answered, and the stream continues.
//
// # Subscribing
//
// The first Delivery has no messages and live set: the subscriber is registered. Its
// offset is one that is not behind the first message to come, so that a subscriber at the
// tail can go on from there if it loses the stream before it had anything.
//
// Credit counts down by messages and by bytes. One of the two that was never given does not count; while
// neither was, nothing is delivered. The last message may go beyond the bytes. Acks and nacks are done in their
// order, and acks that come while one is done are put together; settled counts those that are done. A client
// that closes its half has its acks done and then a clean end: that is how it knows that they are stored. Any
// other end has a status that says why.
//
// # Hints
//
// A node that does not lead answers all the same, and says who does by the header x-leader-hint: the address of
// the leader's gRPC API. On a PublishStream the first verdict after another node came to lead names it too, so
// that a publisher may go there.
package grpc
