// Package messaging is the workload of a message broker: it accepts messages for topics,
// keeps them, and delivers each to every group that reads its topic.
//
// # The contract
//
//   - A topic is created by the first message or the first reader that uses its name: 1 to
//     64 characters of A-Z a-z 0-9 _ -. The same holds for a group.
//   - Publish and PublishBatch return once the broker has acknowledged every message. A message
//     has 1 byte to 1 MiB; a batch has at most 1,000 messages and 3 MiB. The reply contains the
//     number of messages, and nothing that brokers count in different ways.
//   - Deliver gives a group the requested number of messages that none of its members has handled, in the
//     order in which they were published, and waits for messages that do not exist yet. A
//     message counts as handled once it was delivered.
//   - A request outside these bounds is InvalidArgument.
//
// Package lab/messaging/drive produces loads of messages, and tracks each message. The
// operations here define a single call, for wirelab call and the conformance suite.
package messaging
