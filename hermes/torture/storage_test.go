package torture

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"wirelab/hermes/broker"
	"wirelab/hermes/local"
	"wirelab/wire/status"
)

// Every node's disk fills up under load, to the amount to be left free and to the last byte, where files cannot
// be made any more (ENOSPC). Publishes are refused with a code that says so, reads go on, and once there is
// room publishes go on by themselves.
func TestDiskFull(t *testing.T) {
	// It is looked at once a second, so the space at first must be more than comes in one.
	t.Run("free", func(t *testing.T) { fillDisks(t, 25<<20, "--free-bytes=24MiB", "--segment-bytes=4MiB") })
	t.Run("last byte", func(t *testing.T) { fillDisks(t, 0, "--free-bytes=1MiB", "--segment-bytes=256KiB") })
}

// fillDisks leaves so many bytes of each disk.
func fillDisks(t *testing.T, left int64, args ...string) {
	needs(t, tmpfs)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute+time.Duration(*rounds)*30*time.Second)
	defer cancel()
	dir := t.TempDir()
	ballast := smallDisks(t, dir)
	_, c := begin(ctx, t, local.Options{Dir: dir, Args: args})
	room := found.does(t, "disks full, "+filepath.Base(t.Name())+" (from when there was room)", *rounds)
	whileLoaded(ctx, t, c, "full", func(a *account) {
		for i := 0; more(i, *rounds); i++ {
			for _, name := range ballast {
				fillDisk(t, name, left)
			}
			refusal(ctx, t, a)
			state, err := c.Topic(ctx, "full", true)
			if err != nil {
				t.Fatalf("while the disks are full: %v", err)
			}
			s, err := c.Subscribe(ctx, broker.Start{Topic: "full", From: broker.FromOldest})
			if err != nil {
				t.Fatalf("while the disks are full: %v", err)
			}
			for range state.Next {
				if _, err := s.Next(ctx); err != nil {
					t.Fatalf("while the disks are full: %v", err)
				}
			}
			if err := s.Close(ctx); err != nil {
				t.Error(err)
			}
			for _, name := range ballast {
				if err := os.Remove(name); err != nil {
					t.Fatal(err)
				}
			}
			t.Logf("%d messages read while the disks were full", state.Next)
			room.cost(t, goesOn(ctx, t, a))
		}
	})
}

// smallDisks gives each of three nodes its own disk, of 64 MiB, and names a file on each that is not there.
func smallDisks(t *testing.T, dir string) (ballast []string) {
	t.Helper()
	for id := 1; id <= 3; id++ {
		disk := filepath.Join(dir, "node-"+strconv.Itoa(id))
		if err := os.Mkdir(disk, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mount(own+"disk", disk, "tmpfs", 0, "size=64m"); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unmount(t, disk) })
		ballast = append(ballast, filepath.Join(disk, "ballast"))
	}
	return ballast
}

// fillDisk leaves so many bytes of a disk.
func fillDisk(t *testing.T, ballast string, left int64) {
	t.Helper()
	var is syscall.Statfs_t
	if err := syscall.Statfs(filepath.Dir(ballast), &is); err != nil {
		t.Fatal(err)
	}
	size := max(0, int64(is.Bavail)*is.Bsize-left)
	if err := os.WriteFile(ballast, make([]byte, size), 0o600); err != nil && !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
}

// The leader's disk alone fills up to the amount to be left free: another node leads, and no publish is refused
// for it.
func TestLeadersDiskFull(t *testing.T) {
	needs(t, tmpfs)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute+time.Duration(*rounds)*30*time.Second)
	defer cancel()
	dir := t.TempDir()
	ballast := smallDisks(t, dir)
	_, c := begin(ctx, t, local.Options{Dir: dir, Args: []string{"--free-bytes=16MiB", "--segment-bytes=4MiB"}})
	gap := found.does(t, "leader's disk full", *rounds)
	whileLoaded(ctx, t, c, "leads", func(a *account) {
		for i := 0; more(i, *rounds); i++ {
			caughtUp(ctx, t, c)
			old := leader(ctx, t, c)
			began := time.Now()
			fillDisk(t, ballast[old-1], 12<<20)
			for leader(ctx, t, c) == old {
				pause(ctx, 10*time.Millisecond)
			}
			gap.cost(t, goesOnSince(ctx, t, a, time.Now()))
			t.Logf("node %d leads no longer, %v after its disk was filled", old, time.Since(began))
			if err := os.Remove(ballast[old-1]); err != nil {
				t.Fatal(err)
			}
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.failure != nil && status.CodeOf(a.failure) == status.ResourceExhausted {
			t.Errorf("a publish was refused: %v", a.failure)
		}
	})
}

// refusal waits until a publish is refused for want of room. What was on its way when the disks filled up may
// fail before: no one can say whether that is stored.
func refusal(ctx context.Context, t *testing.T, a *account) {
	t.Helper()
	before := a.failed.Load()
	var last error
	for ctx.Err() == nil {
		if a.failed.Load() > before {
			a.mu.Lock()
			last = a.failure
			a.mu.Unlock()
			switch code := status.CodeOf(last); code {
			case status.ResourceExhausted:
				return
			case status.Unavailable, status.DeadlineExceeded:
			default:
				t.Fatalf("a publish fails with: %v", last)
			}
		}
		pause(ctx, 10*time.Millisecond)
	}
	t.Fatalf("no publish is refused for want of room; the last failed with: %v", last)
}

// The power goes: all nodes end at once, and of their disk only what the kernel was made to write is left. That
// is a copy of the file behind the file system, made while it is mounted. A file that was not synced shows that
// this bites: it is gone.
func TestPowerCut(t *testing.T) {
	needs(t, loop)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute+time.Duration(*rounds)*time.Minute)
	defer cancel()
	images, disk := t.TempDir(), place(t)
	image := filepath.Join(images, "disk-0")
	must(t, "truncate", "-s", "600M", image)
	must(t, "mkfs.ext4", "-q", "-F", image)
	mount := func() {
		// The journal is committed when someone syncs, and not by the clock: the copy would be torn.
		must(t, "mount", "-o", "loop,commit=300", image, disk)
	}
	mount()
	mounted := true
	t.Cleanup(func() {
		if mounted {
			unmount(t, disk)
		}
	})
	cluster, c := begin(ctx, t, local.Options{Dir: disk, Args: []string{"--segment-bytes=4MiB"}})
	power := found.does(t, "power cut (all nodes, and their start)", *rounds)
	whileLoaded(ctx, t, c, "power", func(a *account) {
		for round := 0; more(round, *rounds); round++ {
			pause(ctx, time.Second)
			control := filepath.Join(disk, "control")
			if err := os.WriteFile(control, []byte("written and not synced"), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, n := range cluster.Nodes {
				n.Kill()
			}
			at := time.Now()
			image = filepath.Join(images, "disk-"+strconv.Itoa(round+1))
			must(t, "cp", "--sparse=always", filepath.Join(images, "disk-"+strconv.Itoa(round)), image)
			unmount(t, disk)
			mounted = false
			mount()
			mounted = true
			if text, err := os.ReadFile(control); err == nil && len(text) > 0 {
				t.Error("what was not synced is there: no power was cut")
			}
			if err := cluster.Start(ctx); err != nil {
				t.Fatal(err)
			}
			power.cost(t, goesOnSince(ctx, t, a, at))
			must(t, "rm", "-f", control, filepath.Join(images, "disk-"+strconv.Itoa(round)))
		}
		caughtUp(ctx, t, c)
	})
}
