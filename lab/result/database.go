package result

import (
	"wirelab/lab/plan"
)

// DatabaseUse is what the database of a server used over a period. A database may have other clients. Its own
// background work and theirs during the slices are included.
type DatabaseUse struct {
	// Within reports that the data is kept inside the server's process, by an embedded database or in memory. Its
	// resource use is then part of [Trial.Server], and no other field is set.
	Within bool `json:"within,omitempty"`
	// Processes is what its processes used; nil if they cannot be observed, for example on another host.
	Processes *DatabaseProcesses `json:"processes,omitempty"`
	// Counts are its own counters; nil if it does not provide them.
	Counts *DatabaseCounts `json:"counts,omitempty"`
}

// DatabaseProcesses is the resource use of a database server's processes.
type DatabaseProcesses struct {
	CPU plan.Duration `json:"cpu"` // of all processes, including those that ended in the period
	// Background is the part of CPU used by processes that serve no connection (checkpoints, log, vacuum), as far as
	// it can be separated.
	Background plan.Duration `json:"background,omitempty"`
	Wall       plan.Duration `json:"wall"` // the length of the period
	// CPUs are the CPUs that it may run on.
	CPUs []int `json:"cpus"`
	// Storage is bytes from and to storage; nil if this user may not see them.
	Storage *StorageUse `json:"storage,omitempty"`
}

// StorageUse is bytes read from or written to storage. Bytes that only passed through the page cache are not
// included.
type StorageUse struct {
	Read    uint64 `json:"read"`
	Written uint64 `json:"written"`
}

// DatabaseCounts are counters of a database. All except WALBytes and Checkpoints are of the one database that is
// used. PostgreSQL's backends report their counts one to ten seconds late, unless they are asked to report at once.
// Then a slice may contain counts of the slice before it.
type DatabaseCounts struct {
	WALBytes    uint64 `json:"wal_bytes"`   // written to the write-ahead log, by the whole server
	BlocksRead  uint64 `json:"blocks_read"` // blocks that were not in its own cache
	BlocksHit   uint64 `json:"blocks_hit"`  // blocks that were
	Commits     uint64 `json:"commits"`     // transactions, including those that only read
	Rollbacks   uint64 `json:"rollbacks"`
	Checkpoints uint64 `json:"checkpoints,omitempty"` // started, in the whole server
}

// PoolUse is the use of a server's pool of database connections.
type PoolUse struct {
	Size    int           `json:"size"`    // the maximum number of connections
	Open    int           `json:"open"`    // connections at the end
	Taken   uint64        `json:"taken"`   // how often a connection was taken
	Waited  uint64        `json:"waited"`  // how often none was free
	Waiting plan.Duration `json:"waiting"` // the sum of these waits
}

// Since returns the use between an earlier reading and d. A value that is known in only one of them is unknown.
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

// less is after−before for a counter, or 0 if the counter was reset in between.
func less(after, before uint64) uint64 { return after - min(after, before) }

// Add adds another period to d, and returns the sum; d may be nil. A value that is unknown in one of them is unknown
// in the sum.
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

// Add adds another period to p, and returns the sum; p may be nil.
func (p *PoolUse) Add(more PoolUse) *PoolUse {
	if p == nil {
		return &more
	}
	return &PoolUse{
		Size: more.Size, Open: more.Open,
		Taken: p.Taken + more.Taken, Waited: p.Waited + more.Waited, Waiting: p.Waiting + more.Waiting,
	}
}
