// Package messaging is the work of a message broker: it takes messages under topics,
// keeps them, and delivers each to every group that reads its topic.
//
// # The contract
//
//   - A topic begins with the first message or the first reading under its name, 1 to
//     64 of A-Z a-z 0-9 _ -; so does a group.
//   - Publish and PublishBatch return once the broker has acknowledged every message,
//     1 byte to 1 MiB each, of a batch at most 1,000 and 3 MiB. The reply tells how
//     many that were, and nothing that brokers count differently.
//   - Deliver gives a group so many messages that nobody of it has dealt with, in the
//     order in which they were published, waiting for those that are not there yet. A
//     message is dealt with once it was given.
//   - A request outside these bounds is InvalidArgument.
//
// Loads of messages are driven by room lab/messaging/drive, which follows each message; the
// operations here are what one call of it means, for wirelab call and the suite.
package messaging
