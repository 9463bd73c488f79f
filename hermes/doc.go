// Package hermes is the vocabulary of Hermes, a replicated message broker: what
// a message, a topic, a group and an acknowledgement are, and the bounds of each.
// It knows no wire, no disk and no other node.
//
// # Guarantees
//
//   - A publish in mode [Consistent] is acknowledged only once a quorum of nodes
//     has the messages on disk (fsync included). No loss of a minority of nodes, and
//     no power cut of all, loses it or changes its offset.
//   - A topic has one order, the same on every node. An offset, counted from 0, never
//     means two messages; a message that was trimmed leaves its offset unused.
//   - A run of messages that is published again with the same producer and sequence
//     is stored once and answered with the offset it has.
//   - A group gets every message at least once, unless retention takes it first: that is counted, and told. A
//     message that is not acknowledged within the group's ack timeout, or is refused, comes again; after the
//     group's attempts it is stored in topic [DeadLetters], with the reason, and only then passed over. What
//     was not sent to a member was not tried, and what a member lost together with others never counts against
//     a message. An acknowledgement that succeeds is in the group's state on a quorum; one that came too late
//     says so. What a group of that topic gives up is passed over and counted, and stays where it is.
//   - Everything is bounded. Past a bound the caller gets an error with a code
//     of package status; nothing is buffered for him.
//
// Times are Unix nanoseconds, set by the leader and never falling within the log.
package hermes
