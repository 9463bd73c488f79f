package intake_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"wirelab/hermes/api/intake"
	"wirelab/wire/status"
)

// Unfinished requests of which nothing comes delay no other: they are ended, the largest first and no more of
// them than must be, and who waits continues.
func TestIdleUploadsGiveWay(t *testing.T) {
	t.Parallel()
	in := intake.New(intake.Options{Bytes: intake.Least, Patience: time.Hour})
	ended := make(chan int, 4)
	uploads := map[int]*intake.Upload{}
	for i, bytes := range []int{1 << 20, 2 << 20, 3 << 20, 2 << 20} {
		uploads[i] = in.Begin(func() { ended <- i })
		if err := uploads[i].Take(t.Context().Done(), bytes); err != nil {
			t.Fatal(err)
		}
	}
	chief := in.Begin(func() { ended <- 4 }) // uses the reserve
	if err := chief.Take(t.Context().Done(), 1<<20); err != nil {
		t.Fatal(err)
	}
	done := make(chan int)
	go func() {
		i := <-ended
		if err := uploads[i].Take(nil, 1); status.CodeOf(err) != status.ResourceExhausted {
			t.Errorf("an upload that was ended continues: %v", err)
		}
		uploads[i].Release()
		done <- i
	}()
	if err := in.Admit(t.Context().Done(), 2<<20); err != nil {
		t.Fatal(err)
	}
	if i := <-done; i != 2 || len(ended) > 0 {
		t.Errorf("upload %d was ended, and %d more; the one of 3 MiB was enough", i, len(ended))
	}
}

// Large requests that are half there and wait for room, one of them with the reserve, do not keep a small one
// waiting: one of them is refused, and no more, since that is enough.
func TestWaitingUploadsGiveWay(t *testing.T) {
	t.Parallel()
	const part, many = 256 << 10, 28 // with chief they have all that is not set aside
	in := intake.New(intake.Options{Bytes: intake.Least, Patience: time.Hour})
	begin := func(bytes int) *intake.Upload {
		u := in.Begin(func() { t.Error("an upload that waits is ended as an idle one") })
		if err := u.Take(t.Context().Done(), bytes); err != nil {
			t.Fatal(err)
		}
		return u
	}
	chief := begin(1 << 20)
	var others []*intake.Upload
	for range many {
		others = append(others, begin(part))
	}
	over := make(chan struct{})
	var all sync.WaitGroup
	refused := make(chan error, many+1)
	wait := func(u *intake.Upload, bytes int) {
		all.Go(func() {
			refused <- u.Take(over, bytes)
			u.Release()
		})
	}
	if err := chief.Take(over, 7<<20); err != nil { // of the reserve
		t.Fatal(err)
	}
	wait(chief, 2<<20) // more than is left of that
	for _, u := range others {
		wait(u, part)
	}
	small := in.Begin(func() { t.Error("the small request is ended") })
	patient, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := small.Take(patient.Done(), 1<<10); err != nil {
		t.Error(err)
	}
	if err := <-refused; status.CodeOf(err) != status.ResourceExhausted {
		t.Errorf("who made room gets: %v", err)
	}
	if c := in.Counts(); c.Refused != 1 {
		t.Errorf("%d were refused; one was enough", c.Refused)
	}
	close(over)
	all.Wait()
	small.Release()
	if c := in.Counts(); c.Bytes != 0 {
		t.Errorf("%+v", c)
	}
}

// Who takes of the reserve and gives it back, again and again, makes no room for others: the bound holds.
func TestChiefMakesNoRoom(t *testing.T) {
	t.Parallel()
	in := intake.New(intake.Options{Bytes: intake.Least, Patience: time.Millisecond})
	chief, other := in.Begin(func() {}), in.Begin(func() {})
	// All that is not set aside.
	for u, bytes := range map[*intake.Upload]int{chief: 1 << 20, other: intake.Least/2 - 1<<20} {
		if err := u.Take(t.Context().Done(), bytes); err != nil {
			t.Fatal(err)
		}
	}
	for range 20 {
		if err := chief.Take(t.Context().Done(), 4<<20); err != nil {
			t.Fatal(err)
		}
		chief.Give(4 << 20)
	}
	for range 20 {
		if err := in.Begin(func() {}).Take(t.Context().Done(), 1<<20); err == nil {
			t.Fatalf("%d bytes are held of %d", in.Counts().Bytes, intake.Least)
		}
	}
}

// Who finds no room is notified by a code that says to come again, with the bound and its name.
func TestRefusal(t *testing.T) {
	t.Parallel()
	in := intake.New(intake.Options{Bytes: intake.Least, Patience: time.Millisecond})
	if err := in.Admit(t.Context().Done(), intake.Least); err != nil {
		t.Fatal(err)
	}
	err := in.Admit(t.Context().Done(), 1)
	if status.CodeOf(err) != status.ResourceExhausted || !strings.Contains(err.Error(), "all 16777216 bytes") {
		t.Errorf("refused with: %v", err)
	}
	over := make(chan struct{})
	close(over)
	if err := in.Wait(over, 1); status.CodeOf(err) != status.Canceled {
		t.Errorf("whose request ended gets: %v", err)
	}
	in.Give(intake.Least)
	if err := in.Admit(t.Context().Done(), 1); err != nil {
		t.Error(err)
	}
	in.Give(1)
	if c := in.Counts(); c.Bytes != 0 || c.Refused != 1 {
		t.Errorf("%+v", c)
	}
}

// Requests that together need many times the bound and come byte by byte, all at once, are all served, and
// never hold more than the bound.
func TestHonestUploadsAreServed(t *testing.T) {
	t.Parallel()
	in := intake.New(intake.Options{Bytes: intake.Least, Patience: time.Hour})
	var all sync.WaitGroup
	failed := make(chan error, 64)
	for range 64 {
		all.Go(func() {
			u := in.Begin(func() { failed <- errors.New("an upload was ended") })
			defer u.Release()
			for range 8 {
				if err := u.Take(nil, 1<<20-rand.IntN(100)); err != nil {
					failed <- err
					return
				}
				if c := in.Counts(); c.Bytes > intake.Least+64<<20/100 {
					failed <- errors.New("more than the bound is held")
				}
			}
			u.Whole()
		})
	}
	all.Wait()
	close(failed)
	for err := range failed {
		t.Error(err)
	}
	if c := in.Counts(); c.Bytes != 0 {
		t.Errorf("%+v", c)
	}
}
