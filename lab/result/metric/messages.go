package metric

// Two metrics that are shown but never compared, because they may be 0.
const (
	MemoryGrowth = "memory-growth" // bytes of memory per second, of all broker processes
	DiskGrowth   = "disk-growth"   // bytes on disk per second, of all nodes
)
