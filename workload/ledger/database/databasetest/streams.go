package databasetest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"wirelab"
	"wirelab/workload/ledger"
)

func streamTests() map[string]func(*testing.T, ledger.Service) {
	return map[string]func(*testing.T, ledger.Service){
		"a stream sends what pages list":              testStream,
		"a stream continues after the last id seen":   testResume,
		"a stream keeps to its schedule":              testSchedule,
		"a reader that pauses loses nothing":          testPause,
		"a follower sees each posting once, in order": testFollow,
		"a follower of future transactions":           testFollowSince,
		"a stream ends with its context":              testStreamContext,
		"many streams at once each send all":          testManyStreams,
	}
}

func testStream(t *testing.T, s ledger.Service) {
	all := seeded(t)
	account := all[10].From
	for _, c := range []struct {
		why  string
		feed ledger.Feed
		want []ledger.Transaction
	}{
		{"no conditions", ledger.Feed{}, all},
		{"a limit", ledger.Feed{Limit: 3}, all[:3]},
		{"a limit of more than is read at once", ledger.Feed{Limit: 700}, all[:700]},
		{"a limit beyond the log", ledger.Feed{After: all[990].ID, Limit: 1000}, all[991:]},
		{"the longest", ledger.Feed{Limit: ledger.CountLimit}, all},
		{"behind one", ledger.Feed{After: all[500].ID}, all[501:]},
		{"behind the last", ledger.Feed{After: all[999].ID}, nil},
		{"an account", ledger.Feed{Account: account}, keep(all, of(account))},
		{"an account's first two", ledger.Feed{Account: account, Limit: 2}, keep(all, of(account))[:2]},
		{"an unknown account", ledger.Feed{Account: "absent"}, nil},
		{
			"since a time",
			ledger.Feed{Since: all[700].Timestamp},
			keep(all, func(t ledger.Transaction) bool { return !t.Timestamp.Before(all[700].Timestamp) }),
		},
		{"since a time, behind a later one", ledger.Feed{Since: all[10].Timestamp, After: all[900].ID}, all[901:]},
		{
			"since a later time than the one it is behind",
			ledger.Feed{Since: all[900].Timestamp.Add(time.Microsecond), After: all[10].ID},
			keep(all, func(t ledger.Transaction) bool { return t.Timestamp.After(all[900].Timestamp) }),
		},
		{"as fast as can be asked for", ledger.Feed{Rate: ledger.RateLimit}, all},
		{"a follower with a limit", ledger.Feed{Follow: true, Limit: 1000}, all},
	} {
		same(t, c.why, stream(t, s, c.feed), c.want)
	}
	_, err := collect(t, s.StreamTransactions(limited(t), ledger.Feed{After: "absent"}))
	wantCode(t, "behind no transaction", err, wirelab.NotFound)
}

// testResume: a reader whose connection was cut continues after the id it saw last, and sees each transaction once
// (grb-D10).
func testResume(t *testing.T, s ledger.Service) {
	all := seeded(t)
	for _, steps := range []int{1, 100, 255, 256, 257, 999, 1000} {
		if steps == 1 {
			all = all[:20] // tells as much as all of them
		} else {
			all = seeded(t)
		}
		var got []ledger.Transaction
		for feed := (ledger.Feed{}); len(got) < len(all); feed.After = got[len(got)-1].ID {
			n := 0
			for e, err := range s.StreamTransactions(limited(t), feed) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, e.Transaction)
				if n++; n == steps || len(got) == len(all) {
					break
				}
			}
		}
		same(t, fmt.Sprint("in steps of ", steps), got, all)
	}
}

// Event k is due at t0+(k-1)/rate to the nanosecond, whatever was late (R14,
// grb-M02), and says when it was due and when it was sent (grb-M01).
func testSchedule(t *testing.T, s ledger.Service) {
	const rate = 3000
	var first int64
	n := int64(0)
	for e, err := range s.StreamTransactions(limited(t), ledger.Feed{Rate: rate, Limit: 600}) {
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			first = e.Due
		}
		if want := first + n*int64(time.Second)/rate; e.Due != want || e.Sent < e.Due {
			t.Fatalf("event %d is due at %d and sent at %d; want it due at %d", n+1, e.Due, e.Sent, want)
		}
		n++
	}
	if n != 600 {
		t.Errorf("%d events, want 600", n)
	}
	for e, err := range s.StreamTransactions(limited(t), ledger.Feed{Limit: 600}) {
		if err != nil || e.Due != e.Sent {
			t.Fatalf("without a rate: %+v, %v", e.Stamp, err)
		}
	}
}

func testPause(t *testing.T, s ledger.Service) {
	for _, rate := range []int64{0, ledger.RateLimit} {
		var got []ledger.Transaction
		for e, err := range s.StreamTransactions(limited(t), ledger.Feed{Rate: rate}) {
			if err != nil {
				t.Fatal(err)
			}
			if got = append(got, e.Transaction); len(got) == 10 {
				for i := range 50 { // which a stream that pauses must not hold up
					post(t, s, ledger.Posting{ID: fmt.Sprintf("pause-%d-%d", rate, i), From: alice, To: bob, Amount: 1})
				}
			}
		}
		same(t, fmt.Sprint("at rate ", rate), got, log(t, s, ""))
	}
}

func testFollow(t *testing.T, s ledger.Service) {
	all := seeded(t)
	ctx := limited(t)
	feeds := []ledger.Feed{
		{After: all[999].ID},
		{After: all[899].ID, Rate: ledger.RateLimit},
		{After: all[999].ID, Account: alice}, // who is in every posting
		{Since: all[999].Timestamp, After: all[998].ID, Rate: 50_000},
	}
	ahead := []int64{0, 100, 0, 1} // of the data set's transactions that each sees first
	got := make([][]ledger.Transaction, len(feeds))
	var wg sync.WaitGroup
	for i, feed := range feeds {
		feed.Follow, feed.Limit = true, ahead[i]+posters*each
		wg.Go(func() {
			var err error
			if got[i], err = collect(t, s.StreamTransactions(ctx, feed)); err != nil {
				t.Errorf("follower %d: %v after %d events", i, err, len(got[i]))
			}
		})
	}
	for n := range posters {
		wg.Go(func() {
			for i := range each {
				p := ledger.Posting{
					ID: fmt.Sprintf("follow-%d-%d", n, i), From: alice, To: fmt.Sprint("0.0.", 100_010+n), Amount: 1,
				}
				if _, err := s.PostTransaction(ctx, p); err != nil {
					t.Errorf("post: %v", err)
					return
				}
			}
		})
	}
	wg.Wait()
	posted := log(t, s, all[999].ID)
	if len(posted) != posters*each {
		t.Errorf("%d were posted, want %d", len(posted), posters*each)
	}
	for i := range feeds {
		want := append(append([]ledger.Transaction{}, all[1000-ahead[i]:]...), posted...)
		same(t, fmt.Sprintf("follower %+v", feeds[i]), got[i], want)
	}
}

// A follower may ask for a time at which the log has not arrived.
func testFollowSince(t *testing.T, s ledger.Service) {
	first := post(t, s, ledger.Posting{ID: "early", From: alice, To: bob, Amount: 1})
	since := first.Timestamp.Add(time.Hour)
	ctx, cancel := context.WithCancel(limited(t))
	for i := range 5 {
		post(t, s, ledger.Posting{ID: fmt.Sprint("early-", i), From: alice, To: bob, Amount: 1})
	}
	same(t, "nothing is there yet", stream(t, s, ledger.Feed{Since: since, After: first.ID}), nil)
	var wg sync.WaitGroup
	wg.Go(func() {
		got, err := collect(t, s.StreamTransactions(ctx, ledger.Feed{Since: since, Follow: true}))
		wantCode(t, "its reader left", err, wirelab.Canceled)
		same(t, "a time an hour early", got, nil)
	})
	same(t, "one that follows from now on", stream(t, s, ledger.Feed{Since: first.Timestamp, Follow: true, Limit: 6}),
		log(t, s, seeded(t)[999].ID))
	cancel()
	wg.Wait()
}

func testStreamContext(t *testing.T, s ledger.Service) {
	end := seeded(t)[999].ID
	for _, feed := range []ledger.Feed{
		{}, {Rate: 1}, {Follow: true, After: end}, {Account: alice}, {Since: seeded(t)[3].Timestamp},
	} {
		over, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := collect(t, s.StreamTransactions(over, feed))
		wantCode(t, fmt.Sprintf("%+v of a caller who left", feed), err, wirelab.Canceled)
		late, cancel := context.WithDeadline(t.Context(), time.Unix(0, 0))
		_, err = collect(t, s.StreamTransactions(late, feed))
		wantCode(t, fmt.Sprintf("%+v when time is over", feed), err, wirelab.DeadlineExceeded)
		cancel()
	}
	// Cancelled where it waits: at the log's end, for the next to be due, and
	// between two events.
	for _, feed := range []ledger.Feed{{Follow: true, After: seeded(t)[998].ID}, {Rate: 1}, {}} {
		ctx, cancel := context.WithCancel(limited(t))
		n := 0
		var err error
		for _, err = range s.StreamTransactions(ctx, feed) {
			if n++; err == nil {
				cancel()
			}
		}
		cancel()
		wantCode(t, fmt.Sprintf("%+v cancelled", feed), err, wirelab.Canceled)
		if n > 2 {
			t.Errorf("%+v sent %d events once it was cancelled", feed, n-2)
		}
	}
	brief, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err := collect(t, s.StreamTransactions(brief, ledger.Feed{Follow: true, After: end}))
	wantCode(t, "a follower whose time ran out", err, wirelab.DeadlineExceeded)
}

func testManyStreams(t *testing.T, s ledger.Service) {
	all := seeded(t)
	var wg sync.WaitGroup
	for n := range 24 {
		wg.Go(func() {
			got, err := collect(t, s.StreamTransactions(limited(t), ledger.Feed{Rate: int64(n%2) * ledger.RateLimit}))
			if err != nil {
				t.Errorf("stream %d: %v", n, err)
			}
			same(t, fmt.Sprint("stream ", n), got, all)
		})
	}
	wg.Wait()
}
