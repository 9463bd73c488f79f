// Package external makes a work of a service that is not ours, at run time: what is called, over which wires, and what
// a right reply is. It knows no particular service, starts no process and measures nothing.
//
// A [Description] is what a user writes, or what flags say. [Prepare] makes a [Prepared] of it: every request rendered
// and encoded, so that no call does either. A [Prepared] is JSON, and is all that a driver needs. [Prepared.Work] is
// the [wirelab.Work] over it, whose cells call by a library, and by the raw driver where the wire allows.
package external
