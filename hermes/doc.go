// Package hermes is the vocabulary of Hermes, a replicated message broker: messages,
// topics, groups and acknowledgements, and the limits of each.
// It knows no wire, no disk and no other node.
//
// # Guarantees
//
//   - A publish in mode [Consistent] is acknowledged only once a quorum of nodes
//     has the messages on disk (fsync included). The loss of a minority of nodes, or a
//     power failure of all nodes, neither loses the messages nor changes their offsets.
//   - A topic has one order, the same on every node. Offsets count from 0. An offset never
//     refers to two messages; the offset of a trimmed message stays unused.
//   - A run of messages that is published again with the same producer and sequence
//     is stored once, and the reply contains its first offset.
//   - A group gets every message at least once, unless retention removes the message first: Hermes counts and
//     reports that. A message that is not acknowledged within the group's ack timeout, or is refused, is delivered
//     again. After the group's maximum of attempts it is stored in topic [DeadLetters], with the reason, and only
//     then skipped. A message that was not sent to a member was not tried. If a member loses several messages
//     together, this never counts against a message. An acknowledgement that succeeds is in the group's state on
//     a quorum; a late one gets an error. A message that a group of [DeadLetters] gives up is skipped and counted, and
//     stays in that topic.
//   - Everything is bounded. Beyond a limit the caller gets an error with a code
//     of package status; nothing is buffered for it.
//
// Times are Unix nanoseconds, set by the leader. They never decrease within the log.
package hermes
