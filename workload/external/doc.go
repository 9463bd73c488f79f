// Package external makes a [wirelab.Work] at run time from a service that is not ours: its calls, its wires, and the
// rule for a correct reply. It knows no particular service, starts no process and measures nothing.
//
// A [Description] comes from a user's file or from flags. [Prepare] turns it into a [Prepared], in which every request
// is rendered and encoded, so that no call has to do this. A [Prepared] is JSON, and all that a driver needs.
// [Prepared.Work] returns the work over it, whose cells call by a library, and by the raw driver if the wire allows it.
package external
