// Package rabbitmq is package broker's Broker over AMQP 0-9-1, with RabbitMQ. It knows
// queues, channels and confirmations; it starts no server, and what a message
// means it does not know.
//
// # What is declared
//
// For a topic, a durable fanout exchange of its name; for each of its groups a queue
// "topic.group", of its kind and durable, that is bound to it, so that each message is kept
// once for every group. A quorum queue is on the disks of a majority before it confirms; a
// classic one is on one node's.
//
// For a work queue "name", whose topic is [broker.QueuePrefix] and the name: itself, to
// which messages are published straight (by the default exchange, so that a confirmation
// means that they are in it and no binding can be missing); "name.retry", where those that
// failed wait; "name.dead", the dead letters, which are declared with the queue, and not by
// themselves; and the exchange "name.ask", over which consumers are asked how many messages
// they hold. The retries and dead letters are quorum queues always: they are few, and must
// not be lost.
//
// A [Topology] declares none of these, and keeps less of the contract: it is how
// others use RabbitMQ.
//
// # Who counts attempts
//
// The subscriber of a work queue, in a header of the message: a failed message is published
// to the retries, and there confirmed, before it is acknowledged. Each subscriber
// also takes what waits there and puts it back when it is due. So no message is
// ever nowhere, though it may be twice in the moment between the two.
//
// What RabbitMQ offers was tried first, on paper. Its delivery count of quorum
// queues goes up whenever a consumer ends, which is no fault of the message, and
// classic queues have none; its dead-lettering after a time to live loses
// messages of a killed server unless both ends are quorum queues, and for the
// length of a write to disk a message is in neither. The count is told to
// handlers in [broker.Delivery], which may so give up a message whose consumer
// always dies: this package does not.
//
// A topic that is no work queue has no queue for retries: there a message that is to be
// retried waits with its subscriber, and is then given back. Failures are then what the
// server counts, which is 0 for ever of a classic queue.
package rabbitmq
