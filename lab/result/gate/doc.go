// Package gate has the checks that refuse or mark figures: of replies, of the generator and of the machine. Each
// reads stored measurements, and none knows a claim.
package gate
