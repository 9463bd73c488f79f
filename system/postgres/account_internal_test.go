package postgres

import "testing"

// What serves no connection is known by what it calls itself.
func TestBackground(t *testing.T) {
	t.Parallel()
	for title, want := range map[string]bool{
		"postgres: checkpointer": true,
		"postgres: checkpointer performing end-of-recovery checkpoint":  true,
		"postgres: 15/main: walwriter":                                  true,
		"postgres: autovacuum worker ledger":                            true,
		"postgres: background writer":                                   true,
		"postgres: logical replication launcher":                        true,
		"postgres: wirelab ledger 127.0.0.1(40000) SELECT":              false,
		"postgres: checkpointers ledger [local] idle":                   false,
		"postgres: 15/main: wirelab ledger [local] idle in transaction": false,
		"postgres: io worker 0":                                         false,
		"postgres: parallel worker for PID 4711":                        false,
		"/usr/lib/postgresql/15/bin/postgres -D data":                   false,
		"": false,
	} {
		if got := background(title); got != want {
			t.Errorf("%q: background %v, want %v", title, got, want)
		}
	}
}
