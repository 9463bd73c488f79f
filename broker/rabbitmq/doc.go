// Package rabbitmq implements package broker's Broker with RabbitMQ over AMQP 0-9-1. It knows queues, channels and
// confirms. It starts no server, and does not know what messages mean.
//
// # Declarations
//
// A topic is a durable fanout exchange with its name. Each of its groups is a durable queue "topic.group", of the
// topic's kind, bound to the exchange, so that each message is kept once for every group. A quorum queue has a
// message on the disks of a majority before it confirms it; a classic one on the disk of one node.
//
// A work queue "name" has the topic [broker.QueuePrefix] plus the name. Messages are published straight to it (by
// the default exchange, so that a confirm means that they are in it and no binding can be missing). "name.retry"
// holds failed messages until their next attempt. "name.dead" holds the dead letters; it is declared with the
// queue, not separately. The exchange "name.ask" is used to ask consumers how many messages they hold. Retries and
// dead letters are always quorum queues: they are few, and must not be lost.
//
// A [Topology] declares none of these, and keeps less of the contract: it is how other software uses RabbitMQ.
//
// # Who counts attempts
//
// The subscriber of a work queue does, in a header of the message. A failed message is published to the retries,
// and confirmed there, before it is acknowledged. Each subscriber also consumes the retries and returns a message
// to the queue when it is due. So a message is never lost, though it may exist twice for a moment in between.
//
// RabbitMQ's own mechanisms were considered and rejected. The delivery count of quorum queues rises whenever a
// consumer ends, which is no fault of the message, and classic queues have none. Dead-lettering after a time to
// live loses messages of a killed server unless both ends are quorum queues, and during a write to disk a message
// is in neither. [broker.Delivery] has the delivery count, so that a handler may give up a message whose consumer
// always dies; this package does not.
//
// A topic that is not a work queue has no queue for retries: there a message that is to be retried waits in its
// subscriber, and is then returned. Its failures are those that the server counts, which is always 0 for a classic
// queue.
package rabbitmq
