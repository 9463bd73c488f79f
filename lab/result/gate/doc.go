// Package gate holds the checks that refuse or mark figures: of the replies, of the generator, of the
// machine. Each reads what was stored, and none knows a claim.
package gate
