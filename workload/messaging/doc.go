// Package messaging is the workload of a message broker: it takes messages under
// topics, keeps them, and delivers each to every group that reads its topic.
//
// # The contract
//
//   - A topic begins with the first message or the first reading under its name, 1 to
//     64 of A-Z a-z 0-9 _ -; so does a group.
//   - Publish and PublishBatch return once the broker has acknowledged every message,
//     1 byte to 1 MiB each, of a batch at most 1,000 and 3 MiB. The reply has their
//     number, and nothing that brokers count differently.
//   - Deliver gives a group that many messages that no member of it has dealt with, in
//     the order in which they were published, and waits for those that are not there
//     yet. A message is dealt with once it was delivered.
//   - A request outside these bounds is InvalidArgument.
//
// Package lab/messaging/drive drives loads of messages, and follows each message. The
// operations here define one call of it, for wirelab call and the suite.
package messaging
