package main

import "runtime/debug"

// collectAt is Go's GC percent of a node. A node's live heap is some tens of MiB, so that Go's own
// 100 collects many times a second under load; that was a tenth of a publish's CPU. The
// memory limit keeps a large heap from growing fivefold.
const collectAt = 400

// collect sets how the node's garbage is collected, and returns what puts it back. Who
// sets GOGC or GOMEMLIMIT knows better.
func (a *app) collect(limit size) (restore func()) {
	percent, most := -1, int64(-1)
	if a.getenv("GOGC") == "" {
		percent = debug.SetGCPercent(collectAt)
	}
	if a.getenv("GOMEMLIMIT") == "" {
		most = debug.SetMemoryLimit(int64(limit))
	}
	return func() {
		if percent >= 0 {
			debug.SetGCPercent(percent)
		}
		if most >= 0 {
			debug.SetMemoryLimit(most)
		}
	}
}
