package result

import (
	"wirelab/lab/plan"
)

// DatabaseUse is what the database behind a server used over a stretch of time.
// A database serves whoever asks: what it did for itself, and for others, while
// the slices ran is in all of it.
type DatabaseUse struct {
	// Within: what keeps the data runs inside the server's process, as an
	// embedded database or memory does. What it used is in [Trial.Server], and
	// nothing else is set.
	Within bool `json:"within,omitempty"`
	// Processes is what its processes used; nil where they cannot be seen, as
	// on another host.
	Processes *DatabaseProcesses `json:"processes,omitempty"`
	// Counts is what it counted; nil where it does not tell.
	Counts *DatabaseCounts `json:"counts,omitempty"`
}

// DatabaseProcesses is what the processes of a database server used.
type DatabaseProcesses struct {
	CPU plan.Duration `json:"cpu"` // of all, those included that ended meanwhile
	// Background is the part of CPU, as far as it can be told apart, of the
	// processes that serve no connection: checkpoints, log, vacuum.
	Background plan.Duration `json:"background,omitempty"`
	Wall       plan.Duration `json:"wall"` // how long the stretch was
	// CPUs are those it may run on.
	CPUs []int `json:"cpus"`
	// Storage is bytes from and to storage; nil where this user may not see them.
	Storage *StorageUse `json:"storage,omitempty"`
}

// StorageUse is bytes that went to or came from storage, those that only
// passed through the page cache left out.
type StorageUse struct {
	Read    uint64 `json:"read"`
	Written uint64 `json:"written"`
}

// DatabaseCounts is what a database counts. All but WALBytes are of the one
// database that is used. PostgreSQL's backends hand in theirs late, a second to
// ten after the fact, unless they are told to: then a slice may hold what
// belongs to the one before it.
type DatabaseCounts struct {
	WALBytes    uint64 `json:"wal_bytes"`   // written to the log that makes changes last, by the whole server
	BlocksRead  uint64 `json:"blocks_read"` // that were not in its own cache
	BlocksHit   uint64 `json:"blocks_hit"`  // that were
	Commits     uint64 `json:"commits"`     // transactions, those that only read included
	Rollbacks   uint64 `json:"rollbacks"`
	Checkpoints uint64 `json:"checkpoints,omitempty"` // begun, of the whole server
}

// PoolUse is how a server's pool of connections to its database was used.
type PoolUse struct {
	Size    int           `json:"size"`    // connections at most
	Open    int           `json:"open"`    // connections at the end
	Taken   uint64        `json:"taken"`   // times one was taken
	Waited  uint64        `json:"waited"`  // times none was free
	Waiting plan.Duration `json:"waiting"` // summed over those
}

// Since returns what was used between an earlier reading and d. What only one
// of them tells is not known.
func (d DatabaseUse) Since(before DatabaseUse) DatabaseUse {
	used := DatabaseUse{Within: d.Within}
	if a, b := before.Processes, d.Processes; a != nil && b != nil {
		used.Processes = &DatabaseProcesses{
			CPU: max(0, b.CPU-a.CPU), Background: max(0, b.Background-a.Background),
			Wall: max(0, b.Wall-a.Wall), CPUs: b.CPUs,
		}
		if a.Storage != nil && b.Storage != nil {
			used.Processes.Storage = &StorageUse{
				Read:    less(b.Storage.Read, a.Storage.Read),
				Written: less(b.Storage.Written, a.Storage.Written),
			}
		}
	}
	if a, b := before.Counts, d.Counts; a != nil && b != nil {
		used.Counts = &DatabaseCounts{
			WALBytes: less(b.WALBytes, a.WALBytes), BlocksRead: less(b.BlocksRead, a.BlocksRead),
			BlocksHit: less(b.BlocksHit, a.BlocksHit),
			Commits:   less(b.Commits, a.Commits), Rollbacks: less(b.Rollbacks, a.Rollbacks),
			Checkpoints: less(b.Checkpoints, a.Checkpoints),
		}
	}
	return used
}

// less is after−before of a count, 0 where it began anew meanwhile.
func less(after, before uint64) uint64 { return after - min(after, before) }

// Add adds another stretch to d, and returns it; d may be nil. What one of the
// stretches does not tell is not known of both.
func (d *DatabaseUse) Add(more DatabaseUse) *DatabaseUse {
	if d == nil {
		return &more
	}
	sum := DatabaseUse{Within: d.Within && more.Within}
	if a, b := d.Processes, more.Processes; a != nil && b != nil {
		sum.Processes = &DatabaseProcesses{
			CPU: a.CPU + b.CPU, Background: a.Background + b.Background,
			Wall: a.Wall + b.Wall, CPUs: b.CPUs,
		}
		if a.Storage != nil && b.Storage != nil {
			sum.Processes.Storage = &StorageUse{
				Read:    a.Storage.Read + b.Storage.Read,
				Written: a.Storage.Written + b.Storage.Written,
			}
		}
	}
	if a, b := d.Counts, more.Counts; a != nil && b != nil {
		sum.Counts = &DatabaseCounts{
			WALBytes: a.WALBytes + b.WALBytes, BlocksRead: a.BlocksRead + b.BlocksRead,
			BlocksHit: a.BlocksHit + b.BlocksHit,
			Commits:   a.Commits + b.Commits, Rollbacks: a.Rollbacks + b.Rollbacks,
			Checkpoints: a.Checkpoints + b.Checkpoints,
		}
	}
	return &sum
}

// Add adds another stretch to p, and returns it; p may be nil.
func (p *PoolUse) Add(more PoolUse) *PoolUse {
	if p == nil {
		return &more
	}
	return &PoolUse{
		Size: more.Size, Open: more.Open,
		Taken: p.Taken + more.Taken, Waited: p.Waited + more.Waited, Waiting: p.Waiting + more.Waiting,
	}
}
