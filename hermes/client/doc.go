// Package client is the Go client of Hermes. It speaks gRPC to any node, finds out which one leads, and
// continues with another where one is gone. It knows nothing of how a node works.
//
// # Publishing
//
// [Client.Publish] waits for one message's acknowledgement; [Client.Send] does not, and tells it later. Both
// gather messages by back-pressure: messages that are handed over while runs are on their way goes into the
// next run, so that an idle client adds no delay and a busy one sends large runs. [Options.Linger] adds a wait,
// and is 0.
//
// A publish is tried again, on any node, until it is answered for certain or
// [Options.RetryFor] is over. Messages of modes consistent and eventual are numbered, so that
// trying again does not store them twice. Messages of one topic and one mode that one
// goroutine hands over are stored in that order, unless one in between is refused.
// Messages of mode performance are not numbered, and not tried again once they were sent.
//
// # Subscribing
//
// [Client.Subscribe] registers before it returns. A subscription whose node is gone continues at another: one
// without a group behind the last message it was given, with no gap and none twice; a member of a group is
// given again what it did not acknowledge.
//
// # Errors
//
// All errors carry wirelab's codes. Unavailable and DeadlineExceeded of a publish mean that it is unknown
// whether it was stored.
package client
