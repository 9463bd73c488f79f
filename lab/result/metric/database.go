package metric

import (
	"wirelab/lab/result"
)

// DatabaseCPU is what a trial's database used; false where that is in the
// server's, or not known.
func DatabaseCPU(t *result.Trial) (float64, bool) {
	if t.Database == nil || t.Database.Processes == nil {
		return 0, false
	}
	return float64(t.Database.Processes.CPU), true
}

// BackendCPU is what server and database used together, which is the same
// question whether the data is kept inside the server or not.
func BackendCPU(t *result.Trial) (float64, bool) {
	server, ok := CPU(t.Server)
	if t.Told != nil && t.Told.Direct {
		server, ok = 0, true // there was none
	}
	if !ok || t.Database == nil {
		return 0, false
	}
	if t.Database.Within {
		return server, true
	}
	database, ok := DatabaseCPU(t)
	return server + database, ok
}

// PoolWait is how long a trial's calls waited for a connection to the database.
func PoolWait(t *result.Trial) (float64, bool) {
	if t.Pool == nil {
		return 0, false
	}
	return float64(t.Pool.Waiting), true
}
