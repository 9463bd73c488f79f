// Package client is the Go client of Hermes. It speaks gRPC to any node, finds the leader, and
// continues with another node if one is gone. It does not know how a node works.
//
// # Publishing
//
// [Client.Publish] waits for the acknowledgement of one message; [Client.Send] does not wait, and reports the
// acknowledgement later. Both batch by back-pressure: messages that arrive while runs are in flight go into the
// next run. So an idle client adds no delay, and a busy one sends large runs. [Options.Linger] adds a wait; its
// default is 0.
//
// A publish is retried, on any node, until it gets a definite answer or
// [Options.RetryFor] has passed. Messages of the modes consistent and eventual are numbered, so that
// a retry does not store them twice. Messages of one topic and one mode that one
// goroutine sends are stored in that order, unless one in between is refused.
// Messages of mode performance are not numbered, and not retried once they were sent.
//
// # Subscribing
//
// [Client.Subscribe] registers before it returns. If the node of a subscription is gone, the subscription continues at
// another node. Without a group it continues after the last message that it got, without a gap and without a
// repetition; a member of a group gets the messages again that it did not acknowledge.
//
// # Errors
//
// All errors carry the codes of package status. If a publish fails with Unavailable or DeadlineExceeded, it is unknown
// whether the message was stored.
package client
