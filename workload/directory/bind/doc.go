// Package bind carries the person directory over each protocol, server and
// client side by side, one file each. It joins exactly this domain with the
// wires; it knows no other workload, and nothing of how its cells are driven.
package bind
