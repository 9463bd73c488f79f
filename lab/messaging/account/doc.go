// Package account follows every message of a run by what it says of itself: who
// sent it as the how-manieth, when it was due, and whether it is whole. It knows no
// broker, and nothing of how a load is made. Counts of one kind never make up for
// another's: a message that came twice hides none that was lost (docs/origins.md hb-M04).
//
// A lane is a series of messages of which each was sent after the one before was
// answered or handed over, so that they must arrive in order. An audience is a
// group's readers together. What was sent before a [Ledger.Disturb] was over and
// arrives again, or late, after it began is what at-least-once allows, and is told
// apart from what arrives so without reason; so is what nobody could tell the sender of
// whether it was taken. What readers had dealt with for good by then has no such excuse.
package account
