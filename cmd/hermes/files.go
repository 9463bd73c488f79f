package main

import (
	"log/slog"

	"golang.org/x/sys/unix"

	"wirelab"
	"wirelab/cli"
)

// Of the files that a node's process may have open the log reads with a part, so that connections
// leave it enough, and it them.
const (
	filesLeast   = 128 // that a node starts with
	filesOther   = 64  // what the log writes, listeners, other nodes, and some connections
	logFilesMost = 256 // by default
)

// fileLimit is how many files this process may have open, once the soft limit was raised to
// the hard one.
func fileLimit() (int, error) {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return 0, wirelab.Errorf(wirelab.Internal, "the limit of open files is not known: %v", err)
	}
	if limit.Cur < limit.Max {
		raised := unix.Rlimit{Cur: limit.Max, Max: limit.Max}
		if unix.Setrlimit(unix.RLIMIT_NOFILE, &raised) == nil { // else the soft limit is the one that counts
			limit = raised
		}
	}
	return int(min(limit.Cur, 1<<30)), nil
}

// bounded says how many files the log may have open to be read, of those that the process may
// have open, and refuses what cannot go well.
func (c *config) bounded(limit int) (int, error) {
	need := max(filesLeast, c.openFiles+filesOther)
	switch {
	case c.openFiles < 0:
		return 0, cli.Usage("--open-files is %d: a number of files, or 0 for what the process's limit allows", c.openFiles)
	case limit < need:
		return 0, wirelab.Errorf(wirelab.ResourceExhausted, "this process may have %d files open, and a node needs at least %d, connections included: "+
			"raise the limit (ulimit -n, LimitNOFILE=, nofile), or lower --open-files", limit, need)
	case c.openFiles > 0:
		return c.openFiles, nil
	}
	return min(limit/4, logFilesMost), nil
}

// files checks the limit of open files, and says what of it the log takes.
func (c *config) files(logger *slog.Logger) (forLog, limit int, err error) {
	if limit, err = fileLimit(); err != nil {
		return 0, 0, err
	}
	if forLog, err = c.bounded(limit); err != nil {
		return 0, 0, err
	}
	logger.Info("open files", "limit", limit, "least", max(filesLeast, c.openFiles+filesOther), "for the log to read", forLog)
	return forLog, limit, nil
}
