// Package account tracks every message of a run. Each message carries a stamp: which sequence sent it under which
// number, when it was due, and a checksum. The package knows no broker, and does not know how a load is made.
// Counters of different faults are never netted: a duplicate cannot hide a lost message (docs/origins.md hb-M04).
//
// A sequence is a series of messages. Each message is sent after the one before was answered, or was accepted by the
// client, so they must arrive in order. A consumer group is all readers of a group together.
//
// At-least-once delivery allows redelivery and late arrival after a failure. So a message is excused if it was sent
// before a disturbance ended ([Ledger.Disturb]), and arrives again or late after the disturbance began. It is also
// excused if its sender never learned whether the broker took it. A message that readers had finished before the
// disturbance is not excused. Faults without an excuse are counted separately.
package account
