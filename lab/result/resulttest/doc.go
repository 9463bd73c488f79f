// Package resulttest makes results that look measured and were not: arms with
// known costs, drift that all arms share and noise that each has for itself,
// from a seed. Tests of what reads results (analysis, reports, stores, the
// dashboard) use them. It knows nothing of engines, and nothing in production
// may import it.
package resulttest
