package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"wirelab"
	"wirelab/system/postgres"
	"wirelab/system/postgres/postgrestest"
)

// secret is the password of a server of ours.
func secret(t *testing.T, s *postgres.Server) string {
	t.Helper()
	config, err := pgx.ParseConfig(s.DSN())
	if err != nil || len(config.Password) < 20 {
		t.Fatal("the server has no password to speak of")
	}
	return config.Password
}

// A server of ours runs with what it says it runs with, as no one's root, for no other's eyes, and leaves
// nothing behind (docs/origins.md grb-M13: pool and settings unrecorded; grb-D14: the password on the command
// line).
func TestServer(t *testing.T) {
	t.Parallel()
	s := start(t)
	pool, err := postgres.Open(t.Context(), s.DSN(), postgres.Pooling{Size: 3})
	if err != nil {
		t.Fatal(err)
	}
	for _, setting := range s.Settings() {
		var same bool
		if err := pool.QueryRow(t.Context(), "SELECT current_setting($1) = $2", setting.Name,
			setting.Value).Scan(&same); err != nil || !same {
			t.Errorf("%s is not %q: %v", setting.Name, setting.Value, err)
		}
	}
	for name, want := range map[string]string{
		"data_checksums": "on", "password_encryption": "scram-sha-256",
		"lc_collate": "C", "server_encoding": "UTF8",
	} {
		var got string
		if err := pool.QueryRow(t.Context(), "SHOW "+name).Scan(&got); err != nil || got != want {
			t.Errorf("%s is %q, %v; want %q", name, got, err, want)
		}
	}
	if about, err := pool.About(t.Context()); err != nil || about != "PostgreSQL "+s.Version() {
		t.Errorf("it is %q, %v, and said to be of version %q", about, err, s.Version())
	}
	if use := pool.Use(); use.Size != 3 || use.Open != 3 || use.Acquired < 3 {
		t.Errorf("a pool of three: %+v", use)
	}
	pool.Close()

	over, err := postgres.Connect(t.Context(), s.SocketDSN(), "")
	if err != nil {
		t.Fatalf("over the Unix socket: %v", err)
	}
	if err := over.Close(t.Context()); err != nil {
		t.Error(err)
	}
	about, err := os.Stat(s.Directory())
	if err != nil || about.Mode().Perm() != 0o700 {
		t.Errorf("its directory: %v, %v", about, err)
	}
	process, err := os.Stat(fmt.Sprintf("/proc/%d", s.PID()))
	if err != nil {
		t.Fatal(err)
	}
	if uid := process.Sys().(*syscall.Stat_t).Uid; uid == 0 || os.Getuid() != 0 && int(uid) != os.Getuid() {
		t.Errorf("it runs as user %d", uid)
	}
	for _, file := range []string{"cmdline", "environ"} {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", s.PID(), file))
		if err != nil || strings.Contains(string(text), secret(t, s)) {
			t.Errorf("its %s holds the password, or cannot be read: %v", file, err)
		}
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(s.Directory()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("its directory is still there: %v", err)
	}
	if err := s.Restart(t.Context()); wirelab.CodeOf(err) != wirelab.NotFound {
		t.Errorf("started again after it was stopped for good: %v", err)
	}
}

// A server that was killed comes back at the same address with every commit it acknowledged, and a pool
// continues with it: calls fail as Unavailable while it is away, and one more at most on a connection of
// before.
func TestKillAndRestart(t *testing.T) {
	t.Parallel()
	s := start(t)
	pool, err := postgres.Open(t.Context(), s.DSN(), postgres.Pooling{Size: 4})
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	if _, err := pool.Exec(t.Context(), "CREATE TABLE kept (n int)"); err != nil {
		t.Fatal(err)
	}
	for round := range 2 {
		if _, err := pool.Exec(t.Context(), "INSERT INTO kept VALUES ($1)", round); err != nil {
			t.Fatal(err)
		}
		before := s.PID()
		if round == 0 {
			err = s.Kill(t.Context())
		} else { // by someone else
			err = syscall.Kill(before, syscall.SIGKILL)
		}
		if err != nil {
			t.Fatal(err)
		}
		count := func() error {
			var n int
			err := pool.Coded(t.Context(), pool.QueryRow(t.Context(), "SELECT count(*) FROM kept").Scan(&n))
			if err == nil && n != round+1 {
				t.Errorf("%d rows of %d that were acknowledged", n, round+1)
			}
			return err
		}
		for count() == nil {
			// Its other processes notice that the first is gone, some milliseconds after someone else killed that.
		}
		for range 3 {
			if err := count(); err == nil || wirelab.CodeOf(err) != wirelab.Unavailable || strings.Contains(err.Error(),
				secret(t, s)) {
				t.Errorf("while it is away: %v", err)
			}
		}
		if err := s.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
		if s.PID() == before || s.PID() == 0 {
			t.Errorf("its process id was %d and is %d", before, s.PID())
		}
		if count() != nil {
			if err := count(); err != nil {
				t.Errorf("the second call after it came back: %v", err)
			}
		}
	}
}

// Someone else's kill that we could not have noticed yet fails neither the restart that follows it at once nor
// the stop.
func TestRestartRightAfterAKill(t *testing.T) {
	t.Parallel()
	s := start(t)
	for range 3 {
		if err := syscall.Kill(s.PID(), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		if err := s.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Kill(s.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

// A pool whose server was restarted while it was idle loses one call, not one
// for each of its connections.
func TestPoolLosesOneCall(t *testing.T) {
	t.Parallel()
	s := start(t)
	pool, err := postgres.Open(t.Context(), s.DSN(), postgres.Pooling{Size: 8})
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	if err := s.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	failed := 0
	for range 20 {
		if _, err := pool.Exec(t.Context(), "SELECT 1"); pool.Coded(t.Context(), err) != nil {
			failed++
		}
	}
	if failed > 1 {
		t.Errorf("%d calls failed", failed)
	}
	pool.Close()
	if _, err := pool.Exec(t.Context(),
		"SELECT 1"); wirelab.CodeOf(pool.Coded(t.Context(), err)) != wirelab.Unavailable {
		t.Errorf("a pool that was closed: %v", pool.Coded(t.Context(), err))
	}
}

// What goes wrong when a database is opened is said in a line, with where and
// never with the password.
func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	postgrestest.Need(t)
	s, err := postgres.Start(t.Context(), postgres.Options{Settings: []postgres.Setting{
		{Name: "max_connections", Value: "20"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	password := secret(t, s)
	given, stop := context.WithCancel(t.Context())
	stop()
	for _, c := range []struct {
		name, dsn string
		size      int
		ctx       context.Context
		code      wirelab.Code
		words     string
	}{
		{
			"a wrong password", strings.Replace(s.DSN(), password, "wrong-"+password, 1), 1, nil,
			wirelab.Unauthenticated,
			"user wirelab",
		},
		{
			"no such user", strings.Replace(s.DSN(), "//wirelab:", "//someone:", 1), 1, nil, wirelab.Unauthenticated,
			"user someone",
		},
		{"no such database", strings.Replace(s.DSN(), "/wirelab?", "/other?", 1), 1, nil, wirelab.NotFound, "/other"},
		{
			"no server listens", "postgres://me:" + password + "@127.0.0.1:1/x?sslmode=disable", 1, nil,
			wirelab.Unavailable,
			"connection refused",
		},
		{
			"no such host", "postgres://me:" + password + "@nowhere.invalid/x", 1, nil, wirelab.Unavailable,
			"nowhere.invalid",
		},
		{"no string", "s3cret:" + password, 1, nil, wirelab.InvalidArgument, "postgres://"},
		{
			"a setting of a pool that is none", s.DSN() + "&pool_max_conns=many", 1, nil, wirelab.InvalidArgument,
			"settings of a pool",
		},
		{"more connections than it has", s.DSN(), 40, nil, wirelab.Unavailable, "max_connections"},
		{"none", s.DSN(), 0, nil, wirelab.InvalidArgument, "1 to 1000"},
		{"too many", s.DSN(), 1001, nil, wirelab.InvalidArgument, "1 to 1000"},
		{"given up", s.DSN(), 1, given, wirelab.Canceled, ""},
	} {
		ctx := c.ctx
		if ctx == nil {
			ctx = t.Context()
		}
		_, err := postgres.Open(ctx, c.dsn, postgres.Pooling{Size: c.size})
		if err == nil || wirelab.CodeOf(err) != c.code || !strings.Contains(err.Error(), c.words) ||
			strings.Contains(err.Error(), password) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// A server runs on the cores that it is given, with all that it starts.
func TestCores(t *testing.T) {
	t.Parallel()
	postgrestest.Need(t)
	s, err := postgres.Start(t.Context(), postgres.Options{CPUs: []int{0}, Settings: []postgres.Setting{
		{Name: "work_mem", Value: "8MB"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	conn, err := postgres.Connect(t.Context(), s.DSN(), "")
	if err != nil {
		t.Fatal(err)
	}
	var backend int
	var memory string
	if err := conn.QueryRow(t.Context(), "SELECT pg_backend_pid(), current_setting('work_mem')").Scan(&backend,
		&memory); err != nil || memory != "8MB" {
		t.Errorf("work_mem is %q, %v", memory, err)
	}
	for _, pid := range []int{s.PID(), backend} {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil || !strings.Contains(string(status), "Cpus_allowed_list:\t0\n") {
			t.Errorf("process %d may run elsewhere than on core 0: %v", pid, err)
		}
	}
	if err := conn.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// orphanVariable makes this test's program start a server and wait for its death.
const orphanVariable = "WIRELAB_TEST_ORPHAN"

// A server dies with who started it, however that died, and its directory is
// swept by the next (docs/origins.md grb-D15: servers were left behind).
func TestNoServerOutlivesItsParent(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	postgrestest.Need(t)
	if os.Getenv(orphanVariable) != "" {
		s, err := postgres.Start(t.Context(), postgres.Options{Parent: os.Getenv(orphanVariable)})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Println("server", s.PID(), s.Directory())
		select {}
	}
	t.Parallel()
	parent := shortDir(t)
	command := exec.Command(os.Args[0], "-test.run", "^TestNoServerOutlivesItsParent$")
	command.Env = append(os.Environ(), orphanVariable+"="+parent)
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	var pid int
	var dir string
	if _, err := fmt.Fscanf(output, "server %d %s\n", &pid, &dir); err != nil {
		t.Fatalf("it did not start: %v", errors.Join(err, command.Wait()))
	}
	if err := command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = command.Wait() // killed
	for running(pid, dir) {
		if t.Context().Err() != nil {
			t.Fatal("the server is still there")
		}
		time.Sleep(time.Millisecond) // there is nothing to wait on: it is another's child
	}
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(filepath.Join(dir, "owned.lock"), old, old); err != nil {
		t.Fatal(err)
	}
	next, err := postgres.Start(t.Context(), postgres.Options{Parent: parent})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what it left was not swept: %v", err)
	}
	if err := next.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

// running reports whether a process works in a server's directory; a dead one that no caller waited for does
// not.
func running(pid int, dir string) bool {
	where, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/cwd")
	return err == nil && where == filepath.Join(dir, "data")
}

// shortDir is a directory that another user may enter, with a name that leaves
// room for a socket's: those of t.TempDir are neither.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "wl-") //nolint:usetesting // see above
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}
