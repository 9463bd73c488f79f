package probe_test

import (
	"testing"
	"testing/fstest"

	"wirelab/lab/probe"
)

// The tighter limit of machine and control group applies, in both versions of groups.
func TestReadLimits(t *testing.T) {
	t.Parallel()
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	for _, c := range []struct {
		name   string
		root   fstest.MapFS
		memory uint64
		quota  float64
	}{
		{"no group", fstest.MapFS{"proc/meminfo": file("MemAvailable:  2048 kB\n")}, 2 << 20, 0},
		{"version 2", fstest.MapFS{
			"proc/meminfo": file("MemAvailable:  2048 kB\n"), "proc/self/cgroup": file("0::/a/b\n"),
			"sys/fs/cgroup/a/b/memory.max": file("max\n"), "sys/fs/cgroup/a/b/memory.current": file("7\n"),
			"sys/fs/cgroup/a/memory.max": file("1000000\n"), "sys/fs/cgroup/a/memory.current": file("600000\n"),
			"sys/fs/cgroup/a/memory.stat": file("anon 5\ninactive_file 100000\n"),
			"sys/fs/cgroup/a/cpu.max":     file("150000 100000\n"),
		}, 500000, 1.5},
		{"version 1", fstest.MapFS{
			"proc/meminfo": file("MemAvailable:  2048 kB\n"), "proc/self/cgroup": file("4:memory:/box\n1:cpu:/\n"),
			"sys/fs/cgroup/memory/memory.limit_in_bytes":     file("9223372036854771712\n"),
			"sys/fs/cgroup/memory/memory.usage_in_bytes":     file("5\n"),
			"sys/fs/cgroup/memory/box/memory.limit_in_bytes": file("1000\n"),
			"sys/fs/cgroup/memory/box/memory.usage_in_bytes": file("1500\n"),
		}, 0, 0},
		{"a limit beyond the machine's", fstest.MapFS{
			"proc/meminfo": file("MemAvailable:  1 kB\n"), "proc/self/cgroup": file("0::/\n"),
			"sys/fs/cgroup/memory.max": file("1000000\n"), "sys/fs/cgroup/memory.current": file("0\n"),
		}, 1024, 0},
	} {
		l := probe.ReadLimits(c.root)
		if l.Memory != c.memory || l.Quota != c.quota || l.Descriptors == 0 {
			t.Errorf("%s: %+v", c.name, l)
		}
	}
}
