//go:build !linux

package vfs

import (
	"errors"
	"os"
)

// Elsewhere the whole file is synced, and directories are not locked: Hermes is
// run on Linux, and built elsewhere for its client.

func dataSync(f *os.File) error { return f.Sync() }

func reserve(*os.File, int64) error { return errors.ErrUnsupported }

func free(string) (uint64, error) { return 0, errors.ErrUnsupported }

func lock(*os.File) error { return nil }
