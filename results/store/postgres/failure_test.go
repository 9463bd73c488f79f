package postgres

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"

	"wirelab"
	"wirelab/lab/result"
	"wirelab/results/store"
	"wirelab/results/store/storetest"
	"wirelab/system/postgres"
	"wirelab/system/postgres/postgrestest"
)

// large is a sample that does not compress.
func large(n int, random *rand.ChaCha8) *result.Result {
	r := storetest.Small(n)
	words := make([]byte, 400_000)
	_, _ = random.Read(words) // it never fails
	r.Command = hex.EncodeToString(words)
	return r
}

// ownServer starts a server for one test, which may do to it what it likes.
func ownServer(t *testing.T) *postgres.Server {
	t.Helper()
	postgrestest.Need(t)
	own, err := postgres.Start(t.Context(), postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := own.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return own
}

// wantRoomless checks that an error says that there is no room, and that what
// would not go in goes elsewhere and comes back.
func wantRoomless(t *testing.T, s *Store, r *result.Result, err error) {
	t.Helper()
	if err == nil || wirelab.CodeOf(err) != wirelab.ResourceExhausted ||
		!strings.Contains(err.Error(), "no room on the disk of PostgreSQL at "+s.at.String()) ||
		!strings.Contains(err.Error(), "nothing stored before is lost") {
		t.Errorf("%s: %v", r.ID, err)
	}
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

// wantFirst checks that the first n samples are there, whole, and no other.
func wantFirst(t *testing.T, s *Store, n int) {
	t.Helper()
	for i := range n {
		if _, err := s.Get(t.Context(), storetest.Sample(i).ID); err != nil {
			t.Errorf("%d is lost: %v", i, err)
		}
	}
	if total, err := s.Total(t.Context(), store.Filter{}); err != nil || total.Results != n {
		t.Errorf("%+v, %v; want %d", total, err, n)
	}
}

// A database on a disk that fills up keeps what it has and says what to do. Its
// files are in a small memory disk, so that the server itself continues to run.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	dsn, resize := postgrestest.SmallDisk(t, ownServer(t), 20) // TestNoRoom covers the rest
	s := open(t, dsn)
	random := rand.NewChaCha8([32]byte{1})
	full := 0
	for ; full < 100; full++ {
		r := large(full, random)
		if err := s.Put(t.Context(), r); err != nil {
			wantRoomless(t, s, r, err)
			break
		}
	}
	if full < 1 || full == 100 {
		t.Fatalf("full after %d results", full)
	}
	wantFirst(t, s, full)
	resize(40)
	puts(t, s, large(full, random)) // there is room again
	wantFirst(t, s, full+1)
}

// The same without the right to mount: the database raises PostgreSQL's own state
// for a full disk, 53100, in the last table that a put writes.
func TestNoRoom(t *testing.T) {
	t.Parallel()
	s := open(t, database(t, server))
	puts(t, s, storetest.Small(0), storetest.Small(1))
	for _, statement := range []string{
		`CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'could not extend file "base/1/2"' USING ERRCODE = '53100'; END $$`,
		`CREATE TRIGGER full_disk BEFORE INSERT ON wirelab_results.reservoirs EXECUTE FUNCTION full_disk()`,
	} {
		if _, err := s.pool.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	r := storetest.Small(2)
	wantRoomless(t, s, r, s.Put(t.Context(), r))
	wantFirst(t, s, 2)
	if list, err := s.Running(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("%v, %v", list, err)
	}
}

// A server that is killed while results are put loses none that was said to be
// stored, keeps no half, and is used again when it is back.
func TestServerKilledWhilePutting(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	own := ownServer(t)
	s := open(t, own.DSN())
	stored, first := 0, 0
	for kill := range 2 {
		told := make(chan int, 100)
		ended := make(chan error, 1)
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			defer close(told)
			for n := first; ; n++ {
				if err := s.Put(ctx, storetest.Small(n)); err != nil {
					ended <- err
					return
				}
				told <- n
			}
		}()
		for range kill + 1 { // in the middle of the next
			<-told
			stored++
			first++
		}
		if err := own.Kill(t.Context()); err != nil {
			t.Fatal(err)
		}
		err := <-ended
		cancel()
		for range told { // what it had told before it died
			stored++
			first++
		}
		if wirelab.CodeOf(err) != wirelab.Unavailable || !strings.Contains(err.Error(), "cannot be reached") ||
			!strings.Contains(err.Error(), s.at.String()) {
			t.Errorf("kill %d: %v", kill, err)
		}
		if err := own.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
		total, err := s.Total(t.Context(), store.Filter{})
		if err != nil || total.Results < stored || total.Results > stored+1 {
			t.Fatalf("kill %d: %+v, %v; %d were reported as stored", kill, total, err, stored)
		}
		list, err := s.List(t.Context(), store.Filter{Limit: store.ListLimit})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range list {
			if _, err := s.Get(t.Context(), m.ID); err != nil {
				t.Errorf("kill %d: half a result: %v", kill, err)
			}
		}
		var odd int
		one(t, s,
			`SELECT count(*) FROM wirelab_results.results r WHERE NOT EXISTS (SELECT FROM wirelab_results.reservoirs v WHERE v.result_id = r.id)
			OR NOT EXISTS (SELECT FROM wirelab_results.bodies b WHERE b.result_id = r.id)`, nil, &odd)
		if odd != 0 {
			t.Errorf("kill %d: %d halves", kill, odd)
		}
		stored, first = total.Results, first+1
	}
}

// A server that was restarted between two calls, as during an experiment of
// hours, is used again without an error; so is one that comes back in time.
func TestServerRestartedBetweenCalls(t *testing.T) {
	t.Parallel()
	own := ownServer(t)
	s := open(t, own.DSN())
	puts(t, s, storetest.Small(0))
	for n, call := range []func() error{
		func() error { return s.Put(t.Context(), storetest.Small(1)) },
		func() error { _, err := s.Get(t.Context(), storetest.Small(0).ID); return err },
		func() error { _, err := s.List(t.Context(), store.Filter{}); return err },
	} {
		if err := own.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := call(); err != nil {
			t.Errorf("call %d: %v", n, err)
		}
	}
	wantFirst(t, s, 2)
}

// An answer that is lost leaves open whether the commit was made. A put that is
// tried again and finds its own result has stored it; another's is a conflict.
func TestLostAnswerToACommit(t *testing.T) {
	t.Parallel()
	s := open(t, database(t, server))
	r := storetest.Small(0)
	packed, err := store.Pack(r)
	if err != nil {
		t.Fatal(err)
	}
	all := derive(packed)
	lose := func(do func(context.Context) error) func(context.Context, int) error {
		return func(ctx context.Context, attempt int) error {
			err := do(ctx)
			if attempt == 1 && err == nil {
				return errors.Join(syscall.ECONNRESET) // made, and not heard of
			}
			return err
		}
	}
	if err := s.again(t.Context(),
		s.settled(all, packed,
			lose(func(ctx context.Context) error { return s.insert(ctx, all, packed) }))); err != nil {
		t.Errorf("put: %v", err)
	}
	other := storetest.Small(0)
	other.Command = "another"
	if packed, err = store.Pack(other); err != nil {
		t.Fatal(err)
	}
	all = derive(packed)
	attempts := 0
	err = s.again(t.Context(), s.settled(all, packed, func(ctx context.Context, attempt int) error {
		if attempts++; attempt == 1 {
			return syscall.ECONNRESET
		}
		return s.insert(ctx, all, packed)
	}))
	if wirelab.CodeOf(err) != wirelab.Conflict || attempts != 2 {
		t.Errorf("another's: %v after %d attempts", err, attempts)
	}
}

// Several put one result at the same time: one stores it, the others get an error.
func TestOnePutOfManyWins(t *testing.T) {
	t.Parallel()
	dsn := database(t, server)
	stores := []*Store{open(t, dsn), open(t, dsn), open(t, dsn)}
	var group sync.WaitGroup
	won := make([]bool, len(stores))
	for i, s := range stores {
		group.Go(func() {
			r := storetest.Sample(0)
			r.Command = strings.Repeat("x", i+1)
			switch err := s.Put(t.Context(), r); {
			case err == nil:
				won[i] = true
			case wirelab.CodeOf(err) != wirelab.Conflict:
				t.Errorf("put %d: %v", i, err)
			}
		})
	}
	group.Wait()
	winner := -1
	for i, w := range won {
		if w && winner >= 0 {
			t.Errorf("%d and %d have won", winner, i)
		}
		if w {
			winner = i
		}
	}
	if winner < 0 {
		t.Fatal("none has won")
	}
	if r, err := stores[0].Get(t.Context(), storetest.Sample(0).ID); err != nil || len(r.Command) != winner+1 {
		t.Errorf("%v, want that of %d: %v", r.Command, winner, err)
	}
}
