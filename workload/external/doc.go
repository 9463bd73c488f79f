// Package external makes, at run time, the work of a service that is not ours: its operations, the wires to call it
// over, and how to check its replies. It knows no particular service, starts no process and measures nothing.
//
// A [Description] comes from a file of the user or from flags. [Prepare] makes a [Prepared] of it, with every
// request rendered and encoded, so that no call has to. A [Prepared] is JSON, and contains everything that a driver
// needs. [Prepared.Work] is the [wirelab.Work] over it, whose cells call with a library, and with the raw driver if
// the wire allows it.
package external
