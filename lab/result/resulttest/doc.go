// Package resulttest makes artificial results: arms with known costs, drift that all arms share, and independent
// noise for each, from a seed. Tests of packages that read results (analysis, reports, stores, the dashboard) use
// them. It knows nothing about engines, and nothing in production may import it.
package resulttest
