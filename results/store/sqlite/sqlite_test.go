package sqlite

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"wirelab"
	"wirelab/internal/leaktest"
	"wirelab/internal/prereq"
	"wirelab/lab/result"
	"wirelab/results/store"
	"wirelab/results/store/storetest"
)

// childVariable makes the test binary a process that puts results; see [child].
const childVariable = "WIRELAB_TEST_STORE_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) != "" {
		if err := child(os.Getenv(childVariable)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(leaktest.Patient(m))
}

// child puts results into a store, numbers from one on, and prints each
// number once it is stored. argument is "PATH|FIRST|COUNT".
func child(argument string) error {
	parts := strings.Split(argument, "|")
	first, err1 := strconv.Atoi(parts[1])
	count, err2 := strconv.Atoi(parts[2])
	s, err3 := Open(context.Background(), parts[0])
	if err := errors.Join(err1, err2, err3); err != nil {
		return err
	}
	for n := first; n < first+count; n++ {
		if err := s.Put(context.Background(), storetest.Small(n)); err != nil {
			return err
		}
		fmt.Println(n)
	}
	return s.Close()
}

func startChild(t *testing.T, path string, first, count int) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s|%d|%d", childVariable, path, first, count))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, bufio.NewScanner(out)
}

func open(t *testing.T, path string) *Store {
	t.Helper()
	s, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func closing(t *testing.T, s *Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestContract(t *testing.T) {
	storetest.Run(t, func(t *testing.T) store.Store {
		return open(t, filepath.Join(t.TempDir(), "results.db"))
	})
}

func TestNoResultWithoutItsOrigin(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "results.db"))
	defer closing(t, s)
	do := func(statement string) {
		t.Helper()
		if _, err := s.write.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	storetest.Torn(t, s, func(*testing.T) func() {
		do(`CREATE TRIGGER refuses BEFORE INSERT ON origins BEGIN SELECT RAISE(ABORT, 'no'); END`)
		return func() { do(`DROP TRIGGER refuses`) }
	})
}

func TestResultsOutliveTheProcess(t *testing.T) {
	t.Parallel()
	// A name that an address would take apart, in directories yet to be made.
	path := filepath.Join(t.TempDir(), "a b", "50%?#é", "results.db")
	s := open(t, path)
	if err := s.Put(t.Context(), storetest.Sample(0)); err != nil {
		t.Fatal(err)
	}
	closing(t, s)
	s = open(t, path)
	defer closing(t, s)
	if _, err := s.Get(t.Context(), storetest.Sample(0).ID); err != nil {
		t.Error(err)
	}
	info, err := os.Stat(filepath.Dir(path))
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("directory: %v, %v; want it private", info.Mode(), err)
	}
	for pragma, want := range map[string]string{"journal_mode": "wal", "synchronous": "2", "busy_timeout": "10000"} {
		var got string
		if err := s.write.QueryRowContext(t.Context(), "PRAGMA "+pragma).Scan(&got); err != nil || got != want {
			t.Errorf("%s is %q, %v; want %q", pragma, got, err, want)
		}
	}
}

func TestDamageIsOneResultsOnly(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "results.db"))
	defer closing(t, s)
	for n := range 5 {
		if err := s.Put(t.Context(), storetest.Sample(n)); err != nil {
			t.Fatal(err)
		}
	}
	later := []byte(`{"schema": 99, "id": "` + storetest.Sample(2).ID + `", "unheard_of": 1}`)
	for n, change := range map[int]string{
		0: `UPDATE results SET body = substr(body, 1, length(body) / 2) WHERE id = ?`,
		1: `UPDATE results SET body = x'00' WHERE id = ?`,
		3: `UPDATE results SET body = (SELECT body FROM results WHERE id = '` + storetest.Sample(4).ID +
			`') WHERE id = ?`,
	} {
		if _, err := s.write.ExecContext(t.Context(), change, storetest.Sample(n).ID); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.write.ExecContext(t.Context(), `UPDATE results SET body = ? WHERE id = ?`, packed(t, later),
		storetest.Sample(2).ID); err != nil {
		t.Fatal(err)
	}
	for n, want := range map[int]wirelab.Code{
		0: wirelab.Internal, 1: wirelab.Internal, 2: wirelab.Unimplemented,
		3: wirelab.Internal,
	} {
		id := storetest.Sample(n).ID
		_, err := s.Get(t.Context(), id)
		if err == nil || wirelab.CodeOf(err) != want || !strings.Contains(err.Error(), id) {
			t.Errorf("damaged %d: %v", n, err)
		}
	}
	if _, err := s.Get(t.Context(), storetest.Sample(4).ID); err != nil {
		t.Errorf("the sound one: %v", err)
	}
	if list, err := s.List(t.Context(), store.Filter{}); err != nil || len(list) != 5 {
		t.Errorf("list: %d, %v", len(list), err)
	}
	if err := s.Delete(t.Context(), storetest.Sample(0).ID); err != nil {
		t.Errorf("delete a damaged one: %v", err)
	}
}

// Old news is not only hidden: nothing grows for ever.
func TestOldNewsIsRemoved(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "results.db"))
	defer closing(t, s)
	for n, ago := range []time.Duration{store.ForgottenAfter + time.Second, store.ForgottenAfter + time.Minute, 0} {
		r := storetest.News(n)
		r.Reported = time.Now().Add(-ago)
		if err := s.Report(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	var n int
	if err := s.read.QueryRowContext(t.Context(), "SELECT count(*) FROM running").Scan(&n); err != nil || n != 1 {
		t.Errorf("%d rows, %v; want 1", n, err)
	}
}

func TestTwoProcesses(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "results.db")
	const each = 20
	var group sync.WaitGroup
	for p := range 3 { // they also race to make the file
		cmd, lines := startChild(t, path, p*each, each)
		group.Go(func() {
			for lines.Scan() {
			}
			if err := cmd.Wait(); err != nil {
				t.Errorf("process %d: %v", p, err)
			}
		})
	}
	group.Wait()
	s := open(t, path)
	defer closing(t, s)
	for n := range 3 * each {
		if _, err := s.Get(t.Context(), storetest.Sample(n).ID); err != nil {
			t.Errorf("%d: %v", n, err)
		}
	}
}

func TestKilledWhilePuttingLosesThatResultOnly(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "results.db")
	stored, first := 0, 0
	for kill := range 8 {
		// It is killed after it has reported a few, so in the middle of the next.
		cmd, lines := startChild(t, path, first, 1000)
		told := 0
		for told <= kill%4 && lines.Scan() {
			told++
		}
		if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		for lines.Scan() { // what it had told before it died
			told++
		}
		_ = cmd.Wait() // "signal: killed"

		s := open(t, path)
		for n := first; n < first+told; n++ {
			if _, err := s.Get(t.Context(), storetest.Sample(n).ID); err != nil {
				t.Errorf("kill %d: %d was stored and is lost: %v", kill, n, err)
			}
		}
		list, err := s.List(t.Context(), store.Filter{Limit: store.ListLimit})
		if err != nil {
			t.Fatal(err)
		}
		if extra := len(list) - stored - told; extra < 0 || extra > 1 {
			t.Errorf("kill %d: %d results, %d were reported", kill, len(list), stored+told)
		}
		for _, m := range list {
			if _, err := s.Get(t.Context(), m.ID); err != nil {
				t.Errorf("kill %d: half a result: %v", kill, err)
			}
		}
		var sound string
		if err := s.read.QueryRowContext(t.Context(), "PRAGMA integrity_check").Scan(&sound); err != nil ||
			sound != "ok" {
			t.Errorf("kill %d: %q, %v", kill, sound, err)
		}
		closing(t, s)
		stored, first = len(list), first+told+1
	}
}

// fillUp puts results until there is no room, then checks that the error says
// so and that nothing is lost.
func fillUp(t *testing.T, s *Store, path string) {
	t.Helper()
	const enough = 200
	random := rand.NewChaCha8([32]byte{1})
	large := func(n int) *result.Result {
		r := storetest.Small(n)
		words := make([]byte, 20_000)
		_, _ = random.Read(words)             // it never fails
		r.Command = hex.EncodeToString(words) // what does not compress
		return r
	}
	full := -1
	for n := range enough {
		err := s.Put(t.Context(), large(n))
		if err == nil {
			continue
		}
		full = n
		if wirelab.CodeOf(err) != wirelab.ResourceExhausted ||
			!strings.Contains(err.Error(), "no room on the disk of "+path) ||
			!strings.Contains(err.Error(), "WIRELAB_STORE") {
			t.Errorf("result %d: %v", n, err)
		}
		break
	}
	if full < 1 {
		t.Fatalf("full at result %d", full)
	}
	for n := range full {
		if _, err := s.Get(t.Context(), storetest.Sample(n).ID); err != nil {
			t.Errorf("%d is lost: %v", n, err)
		}
	}
	if list, err := s.List(t.Context(), store.Filter{Limit: store.ListLimit}); err != nil || len(list) != full {
		t.Errorf("%d results, %v; want %d", len(list), err, full)
	}
	// What would not fit goes elsewhere, and comes back.
	r := large(full)
	file, err := store.Rescue(t.TempDir(), r)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var kept store.Rescued
	if err := json.Unmarshal(data, &kept); err != nil {
		t.Fatal(err)
	}
	if back, err := store.Decode(kept.Result); err != nil || back.ID != r.ID {
		t.Errorf("rescued: %v", err)
	}
}

func TestDiskFull(t *testing.T) {
	t.Parallel()
	prereq.NeedMount(t) // where it is missing, TestStoreFull covers the message
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	}()
	path := filepath.Join(dir, "results.db")
	s := open(t, path)
	defer closing(t, s)
	fillUp(t, s, path)
}

func TestStoreFull(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "results.db")
	s := open(t, path)
	defer closing(t, s)
	if _, err := s.write.ExecContext(t.Context(), "PRAGMA max_page_count = 60"); err != nil {
		t.Fatal(err)
	}
	fillUp(t, s, path)
}

func TestOpenSaysWhatToDo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	notStore := filepath.Join(dir, "text.db")
	if err := os.WriteFile(notStore, []byte(strings.Repeat("this is a letter\n", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	later := filepath.Join(dir, "later.db")
	s := open(t, later)
	if _, err := s.write.ExecContext(t.Context(), "INSERT INTO schema_version VALUES (99, 0)"); err != nil {
		t.Fatal(err)
	}
	closing(t, s)
	for path, c := range map[string]struct {
		code wirelab.Code
		say  string
	}{
		notStore:                      {wirelab.Internal, "damaged or not a store"},
		later:                         {wirelab.Unimplemented, "later wirelab"},
		dir:                           {wirelab.PermissionDenied, "set WIRELAB_STORE"},
		filepath.Join(notStore, "in"): {wirelab.PermissionDenied, "set WIRELAB_STORE"},
	} {
		_, err := Open(t.Context(), path)
		if err == nil || wirelab.CodeOf(err) != c.code || !strings.Contains(err.Error(), c.say) ||
			!strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// packed returns data as a store packs a result.
func packed(t *testing.T, data []byte) []byte {
	t.Helper()
	var buffer strings.Builder
	w := gzip.NewWriter(&buffer)
	_, err := w.Write(data)
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return []byte(buffer.String())
}
