package wal_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"wirelab/hermes/vfs"
	"wirelab/hermes/wal"
)

// verified verifies a directory with its own machine.
func verified(ctx context.Context, fs vfs.FS, dir string, live wal.Live) (wal.Verified, error) {
	m := newMachine()
	return wal.Verify(ctx, fs, dir, wal.Verification{
		Live:    live,
		Restore: func(b []byte, _ uint64) error { return m.restore(b) },
		Apply:   m.apply,
		Same: func(b []byte) error {
			if now := m.snapshot(); string(now) != string(b) {
				return fmt.Errorf("%q instead of %q", b, now)
			}
			return nil
		},
	})
}

// all keeps every message.
func all(uint32) (uint64, bool) { return 0, true }

// filesOf are the files of a directory.
func filesOf(t testing.TB, fs vfs.FS, dir string) map[string]string {
	t.Helper()
	names, err := fs.List(dir)
	must(t, err)
	files := map[string]string{}
	for _, name := range names {
		f, err := fs.OpenRead(dir + "/" + name)
		must(t, err)
		size, err := f.Size()
		must(t, err)
		b := make([]byte, size)
		_, err = f.ReadAt(b, 0)
		must(t, err)
		must(t, f.Close())
		files[name] = string(b)
	}
	return files
}

// A log that is whole is found so, and nothing in its directory is changed.
func TestVerifyWhole(t *testing.T) {
	t.Parallel()
	fs, _, next := built(t)
	before := filesOf(t, fs, "/log")
	v, err := verified(t.Context(), fs, "/log", all)
	must(t, err)
	if len(v.Findings) > 0 {
		t.Errorf("a whole log: %v", v.Findings)
	}
	if v.Segments != 4 || v.Sealed != 2 && v.Sealed != 3 || v.Cleaned != 1 || v.Bytes != v.Total || v.Bytes == 0 ||
		v.Snapshots != v.Sealed || v.Applied != v.Last {
		t.Errorf("it was seen as %+v", v)
	}
	if want := next[1] + next[2]; v.Messages+v.Gone != want || v.Hollow == 0 {
		t.Errorf("%d messages and %d gone, want %d together", v.Messages, v.Gone, want)
	}
	after := filesOf(t, fs, "/log")
	for name, b := range before {
		if after[name] != b {
			t.Errorf("%s was changed", name)
		}
	}
	if len(after) != len(before) {
		t.Error("files were made or removed")
	}
}

// Damage anywhere is found, with file and place, and no Open is needed for it.
func TestVerifyDamage(t *testing.T) {
	t.Parallel()
	whole, _, _ := built(t)
	for name, b := range filesOf(t, whole, "/log") {
		end := int64(len(strings.TrimRight(b, "\x00")))
		// Behind its last frame the last segment's end may not have been synced: see TestUnsyncedEnd.
		if strings.HasPrefix(name, "0000000000000004.") {
			end = 1000
		}
		for _, at := range []int64{0, 10, 70, 90, end / 3, end / 2, end - 1} {
			if !strings.Contains(name, ".") {
				continue
			}
			t.Run(fmt.Sprintf("%s at %d", name, at), func(t *testing.T) {
				t.Parallel()
				fs, _, _ := built(t)
				// Segments of two runs differ by their salt alone: byte by byte, other than it was.
				now := filesOf(t, fs, "/log")[name]
				change(t, fs, name, at, []byte{now[at] ^ 0x55})
				v, err := verified(t.Context(), fs, "/log", all)
				must(t, err)
				if len(v.Findings) == 0 ||
					!strings.Contains(v.Findings[0].File, name) && !strings.Contains(v.Findings[0].File,
						strings.TrimSuffix(name, ".log")) {
					t.Errorf("byte %d of %s: %+v", at, name, v.Findings)
				}
			})
		}
		t.Run("without "+name, func(t *testing.T) {
			t.Parallel()
			fs, _, _ := built(t)
			must(t, fs.Remove("/log/"+name))
			v, err := verified(t.Context(), fs, "/log", all)
			must(t, err)
			if strings.HasPrefix(name, "0000000000000004") || name == "0000000000000002.index" ||
				!strings.Contains(name, ".") {
				return // the end of the log, a segment that is not sealed yet, or no file of the log
			}
			if len(v.Findings) == 0 {
				t.Errorf("%s is missing and nothing was found", name)
			}
		})
	}
}

// A snapshot that is whole and wrong is reported.
func TestVerifyWrongSnapshot(t *testing.T) {
	t.Parallel()
	fs, _, _ := built(t)
	m := newMachine()
	v, err := wal.Verify(t.Context(), fs, "/log", wal.Verification{
		Restore: func(b []byte, _ uint64) error { return m.restore(b) },
		Apply:   m.apply,
		Same:    func([]byte) error { return errors.New("it has another topic") },
	})
	must(t, err)
	if !slices.ContainsFunc(v.Findings, func(f wal.Finding) bool { return f.Kind == wal.WrongSnapshot && f.At > 0 }) {
		t.Errorf("found %v", v.Findings)
	}
}

// A directory in use is left alone, and an end that is asked for tells how far it came.
func TestVerifyLockedAndEnded(t *testing.T) {
	t.Parallel()
	fs, o, _ := built(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	v, err := verified(ctx, fs, "/log", all)
	if !errors.Is(err, context.Canceled) || v.Total == 0 || v.Bytes >= v.Total {
		t.Errorf("ended after %d of %d bytes: %v", v.Bytes, v.Total, err)
	}
	l, _ := open(t, fs, "/log", o)
	if _, err := verified(t.Context(), fs, "/log", all); !errors.Is(err, vfs.ErrLocked) {
		t.Errorf("a directory in use: %v", err)
	}
	must(t, l.Close())
}
