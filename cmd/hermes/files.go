package main

import (
	"log/slog"

	"wirelab/cmd/internal/cli"
	"wirelab/hermes/descriptors"
	"wirelab/wire/status"
)

// filesLeast is how many files a node's process must be allowed to open.
const filesLeast = 128

// forLog says how many files the log may have open to be read, of those that the process may
// have open, and refuses what cannot go well.
func (c *config) forLog(limit int) (int, error) {
	need := max(filesLeast, c.openFiles+descriptors.Other)
	switch {
	case c.openFiles < 0:
		return 0, cli.Usage("--open-files is %d: a number of files, or 0 for what the process's limit allows",
			c.openFiles)
	case limit < need:
		return 0, status.Errorf(status.ResourceExhausted,
			"this process may have %d files open, and a node needs at least %d, connections included: "+
				"raise the limit (ulimit -n, LimitNOFILE=, nofile), or lower --open-files", limit, need)
	case c.openFiles > 0:
		return c.openFiles, nil
	}
	return descriptors.Log(limit), nil
}

// files checks the limit of open files, and says what of it the log takes.
func (c *config) files(logger *slog.Logger) (forLog, limit int, err error) {
	limit = descriptors.Limit()
	if forLog, err = c.forLog(limit); err != nil {
		return 0, 0, err
	}
	logger.Info("open files", "limit", limit, "least", max(filesLeast, c.openFiles+descriptors.Other),
		"for the log to read", forLog)
	return forLog, limit, nil
}
