package metric

import (
	"wirelab/lab/result"
)

// DatabaseCPU is the CPU time of a trial's database. It is false if that is part of the server's, or unknown.
func DatabaseCPU(t *result.Trial) (float64, bool) {
	if t.Database == nil || t.Database.Processes == nil {
		return 0, false
	}
	return float64(t.Database.Processes.CPU), true
}

// BackendCPU is the CPU time of server and database together. It can be compared whether or not the data is kept
// inside the server.
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
