package main

import (
	"time"

	"wirelab/lab/probe"
	"wirelab/lab/result"
)

// databaseCPU is what a server's processes have used, those that have ended
// and that it waited for included.
func databaseCPU(pid int) (time.Duration, error) {
	tree, err := probe.NewTree(pid)
	if err != nil {
		return 0, err
	}
	used, err := tree.Read()
	return used.CPU, err
}

// withDatabase adds what a trial tells of its database, of n calls.
func withDatabase(one outcome, t *result.Trial, n float64) outcome {
	if t.Database != nil && t.Database.Processes != nil {
		one.database = micros(time.Duration(t.Database.Processes.CPU)) / n
	}
	if t.Pool != nil {
		one.wait = micros(time.Duration(t.Pool.Waiting)) / n
	}
	return one
}
