// Package intake limits the memory of requests in progress: one limit for all APIs of a node. Bytes
// count from their arrival and not from their announcement, so that a client that announces much and
// sends nothing uses nothing. It knows bytes and their senders, and no protocol.
//
// # When there is no room
//
// A request that needs more room waits, and is not read from. The smallest request gets room first, so that a thousand
// large ones do not delay a small one. An unfinished request that received little for a second is ended if others
// wait, the largest first. A request that waited for five seconds is refused. After one second it is refused if it
// holds more than another waiting request would hold in total, and so makes room for that one. Otherwise
// many requests that each hold a little and wait for more would make every new one wait as long as they do.
//
// Incomplete requests could wait for each other forever. Therefore one of the waiting requests may use the
// reserve for the largest request; it keeps this right until it is complete. Small complete requests may use
// the reserve too.
package intake

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"wirelab/hermes"
	"wirelab/wire/status"
)

const (
	// Usual is the bound of a node that says nothing else.
	Usual = 96 << 20
	// Least is a bound with which requests of any size can be served.
	Least = 2 * largest
	// largest is the reserve, which any request fits.
	largest = 2 * hermes.RunLimit
	// stall is the time in which pace bytes must come of an unfinished request, or it may be ended in favour of others,
	// unless Options say otherwise.
	stall = time.Second
	pace  = 64 << 10
	// smallBytes is a request that, when it is whole, may use the reserve as well: it is soon gone.
	smallBytes = 64 << 10
	// patience is how long a request waits for room, unless Options say otherwise.
	patience = 5 * time.Second
	// look is how often those are looked for, while a request waits.
	look = 100 * time.Millisecond
)

// Options are what may be set. The zero value of each is its default.
type Options struct {
	Bytes    int64         // of requests under way, from Least: Usual
	Patience time.Duration // how long a request waits for room: 5 s
	Stall    time.Duration // how long one that others wait for may stand still: 1 s
}

// Intake counts the bytes of requests under way. Its methods are for any goroutine.
type Intake struct {
	patience time.Duration
	stall    time.Duration

	total int64 // the bound as it was given
	most  int64 // without the reserve
	used  atomic.Int64
	short atomic.Bool // a request waits:room goes to those first

	refused, ended atomic.Uint64

	mu      sync.Mutex           // guards all below
	open    map[*Upload]struct{} // that are not whole
	waiting []*waiter            // the smallest first, and of those the oldest
	chief   *Upload              // may use the reserve; nil: none
	leaving int64                // bytes of uploads that are to end and are not released
	looked  time.Time
}

// Counts are what an intake counted.
type Counts struct {
	Bytes   int64  // of requests now
	Refused uint64 // requests that found no room in time
	Ended   uint64 // unfinished requests that were ended in favour of others
}

// New makes an intake with nothing in it. Fewer bytes than Least are taken as Least.
func New(o Options) *Intake {
	bytes := max(cmp.Or(o.Bytes, Usual), Least)
	return &Intake{
		patience: cmp.Or(o.Patience, patience), stall: cmp.Or(o.Stall, stall),
		total: bytes, most: bytes - largest, open: map[*Upload]struct{}{},
	}
}

// Counts tells what was counted.
func (i *Intake) Counts() Counts {
	return Counts{Bytes: i.used.Load(), Refused: i.refused.Load(), Ended: i.ended.Load()}
}

// Upload is a request of which more is to come, or several that come over one connection. Its methods are for one
// goroutine, but for those that the intake calls.
type Upload struct {
	of  *Intake
	end func()

	last  atomic.Int64 // when it had its pace, in Unix nanoseconds
	since int          // bytes since then
	held  atomic.Int64
	aside atomic.Int64 // of held, the part that is of the reserve: others need not wait for it
	waits atomic.Bool
	over  atomic.Bool // it was ended in favour of others
	left  int64       // counted in leaving. Guarded by of.mu

	ending   sync.Mutex // held while end is called
	released bool       // guarded by ending
}

type waiter struct {
	upload *Upload
	bytes  int64
	size   int64         // of the request with them
	since  time.Time     // when it began to wait
	ready  chan struct{} // closed when it has its bytes, or is to leave
	has    bool          // guarded by mu
	leaves bool          // it is refused in favour of smaller ones. Written before ready is closed
}

// Begin begins an upload. end is called, from another goroutine, at most once and not after Release, when it is
// to end in favour of others: it must make its reading fail, must not block, and must not call the upload.
func (i *Intake) Begin(end func()) *Upload {
	u := &Upload{of: i, end: end}
	u.last.Store(time.Now().UnixNano())
	i.mu.Lock()
	i.open[u] = struct{}{}
	i.mu.Unlock()
	return u
}

// Take counts bytes that came. It waits until there is room or done is closed; ResourceExhausted: there was none.
func (u *Upload) Take(done <-chan struct{}, bytes int) error {
	if u.over.Load() {
		return u.of.stalled()
	}
	waited, err := u.of.take(done, u, int64(bytes), u.of.patience)
	if err != nil {
		return err
	}
	u.held.Add(int64(bytes))
	u.progress(bytes, waited)
	return nil
}

// progress notes that bytes came. The time that was spent waiting for room is not the sender's.
func (u *Upload) progress(bytes int, waited bool) {
	if u.since += bytes; waited || u.since >= pace {
		u.since = 0
		u.last.Store(time.Now().UnixNano())
	}
}

// Try counts bytes that came, where there is room with the reserve: for small requests. It does not wait.
func (u *Upload) Try(bytes int) bool {
	if u.of.used.Add(int64(bytes)) > u.of.total {
		u.of.used.Add(int64(-bytes))
		return false
	}
	u.held.Add(int64(bytes))
	u.progress(bytes, false)
	return true
}

// Give takes bytes off the count.
func (u *Upload) Give(bytes int) {
	u.held.Add(int64(-bytes))
	// The reserve comes back first. Else who takes and gives without an end would make room for all others.
	for given := false; !given; {
		aside := u.aside.Load()
		given = aside == 0 || u.aside.CompareAndSwap(aside, max(0, aside-int64(bytes)))
	}
	u.of.Give(bytes)
}

// Whole tells that nothing is to come of what was begun: it is not ended any more.
func (u *Upload) Whole() {
	i := u.of
	i.mu.Lock()
	delete(i.open, u)
	if i.chief == u {
		i.resign(u)
		i.grant()
	}
	i.mu.Unlock()
}

// resign takes from an upload the right to the reserve, if it has it. mu is held.
func (i *Intake) resign(u *Upload) {
	if i.chief == u {
		i.chief = nil
		u.aside.Store(0)
	}
}

// room is how much may be used by who does not use the reserve. mu is held.
func (i *Intake) room() int64 {
	if i.chief == nil {
		return i.most
	}
	return i.most + i.chief.aside.Load()
}

// Again tells that more is to come, after Whole.
func (u *Upload) Again() {
	u.last.Store(time.Now().UnixNano())
	u.of.mu.Lock()
	u.of.open[u] = struct{}{}
	u.of.mu.Unlock()
}

// Release gives all back. It may be called from any goroutine, once, when nothing else is.
func (u *Upload) Release() {
	u.ending.Lock()
	u.released = true
	u.ending.Unlock()
	i := u.of
	i.mu.Lock()
	delete(i.open, u)
	i.resign(u)
	i.leaving -= u.left
	i.used.Add(-u.held.Swap(0))
	i.grant()
	i.mu.Unlock()
}

// Ended reports whether the upload was ended in favour of others.
func (u *Upload) Ended() bool { return u.over.Load() }

// Admit counts a request that is whole, until [Intake.Give]. It waits as [Upload.Take] does.
func (i *Intake) Admit(done <-chan struct{}, bytes int) error {
	_, err := i.take(done, nil, int64(bytes), i.patience)
	return err
}

// Wait is Admit that waits for as long as it takes, for streams, which then are not read from.
func (i *Intake) Wait(done <-chan struct{}, bytes int) error {
	_, err := i.take(done, nil, int64(bytes), 0)
	return err
}

// Give takes bytes off the count.
func (i *Intake) Give(bytes int) {
	i.used.Add(int64(-bytes))
	if i.short.Load() {
		i.mu.Lock()
		i.grant()
		i.mu.Unlock()
	}
}

// take counts bytes once there is room, and tells whether it waited. limit 0: it waits without one.
func (i *Intake) take(done <-chan struct{}, u *Upload, bytes int64, limit time.Duration) (waited bool, err error) {
	small := u == nil && bytes <= smallBytes
	if small || !i.short.Load() {
		most := i.most
		if small {
			most = i.total
		}
		if i.used.Add(bytes) <= most {
			return false, nil
		}
		i.used.Add(-bytes)
	}
	w := &waiter{upload: u, bytes: bytes, since: time.Now(), ready: make(chan struct{})}
	i.enqueue(w)
	tick := time.NewTicker(look)
	defer tick.Stop()
	for {
		i.clear()
		select {
		case <-w.ready:
			if u != nil {
				u.last.Store(time.Now().UnixNano())
				u.waits.Store(false)
			}
			if w.leaves {
				i.refused.Add(1)
				return true, i.Full()
			}
			return true, nil
		case <-done:
			return true, i.withdraw(w, status.Errorf(status.Canceled, "the request ended while it waited for room"))
		case <-tick.C:
		}
		if limit > 0 && time.Since(w.since) >= limit {
			return true, i.withdraw(w, nil)
		}
	}
}

func (i *Intake) enqueue(w *waiter) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if w.upload == nil { // it is whole
		w.upload = &Upload{of: i}
	}
	w.upload.waits.Store(true)
	w.size = w.upload.held.Load() + w.bytes
	at, _ := slices.BinarySearchFunc(i.waiting, w, func(a, b *waiter) int {
		if a.size <= b.size {
			return -1
		}
		return 1
	})
	i.waiting = slices.Insert(i.waiting, at, w)
	i.short.Store(true)
	i.grant()
}

// withdraw ends a wait, unless it got its bytes at the last moment. why nil: there was no room for too long.
func (i *Intake) withdraw(w *waiter, why error) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	w.upload.waits.Store(false)
	switch {
	case w.has:
		return nil
	case w.leaves:
		i.refused.Add(1)
		return i.Full()
	}
	i.waiting = slices.DeleteFunc(i.waiting, func(other *waiter) bool { return other == w })
	i.resign(w.upload)
	i.grant()
	if why == nil {
		i.refused.Add(1)
		why = i.Full()
	}
	return why
}

// Full is the error of who found no room.
func (i *Intake) Full() error {
	return status.Errorf(status.ResourceExhausted,
		"requests under way hold all %d bytes that the node gives them (--request-bytes): try again later", i.total)
}

// stalled is the error of a request that was ended in favour of others.
func (i *Intake) stalled() error {
	return status.Errorf(status.ResourceExhausted,
		"less than %d bytes came of the request in %v while others waited for room: requests under way may hold "+
			"%d bytes "+
			"at the node "+
			"(--request-bytes)", pace, i.stall, i.total)
}

// grant gives room to those who wait, in their order. mu is held.
func (i *Intake) grant() {
	n := 0
	for _, w := range i.waiting {
		if i.chief == nil {
			i.chief = w.upload
		}
		fits := i.used.Load()+w.bytes <= i.room()
		if !fits && (i.chief != w.upload || i.used.Load()+w.bytes > i.total) {
			i.waiting[n] = w
			n++
			continue
		}
		if !fits {
			w.upload.aside.Add(w.bytes)
		}
		i.used.Add(w.bytes)
		w.has = true
		close(w.ready)
		if w.upload.end == nil {
			i.resign(w.upload) // it is whole: it needs no more
		}
	}
	clear(i.waiting[n:])
	i.waiting = i.waiting[:n]
	i.short.Store(n > 0)
}

// clear ends unfinished uploads of which nothing comes, until those who wait have room.
func (i *Intake) clear() {
	for _, u := range i.choose() {
		u.ending.Lock()
		if !u.released {
			u.end()
		}
		u.ending.Unlock()
	}
}

// choose tells which uploads are to end: those without their pace, if those who wait need it.
func (i *Intake) choose() (all []*Upload) {
	i.mu.Lock()
	defer i.mu.Unlock()
	now := time.Now()
	if now.Sub(i.looked) < look {
		return nil
	}
	i.looked = now
	var wanted int64
	for _, w := range i.waiting {
		wanted += w.bytes
	}
	var idle []*Upload
	for u := range i.open {
		if !u.waits.Load() && !u.over.Load() && u.held.Load() > 0 && now.Sub(time.Unix(0, u.last.Load())) >= i.stall {
			idle = append(idle, u)
		}
	}
	slices.SortFunc(idle, func(a, b *Upload) int { return int(b.held.Load() - a.held.Load()) })
	for _, u := range idle {
		if i.used.Load()-i.leaving+wanted <= i.room() {
			break
		}
		i.leave(u)
		i.ended.Add(1)
		all = append(all, u)
	}
	i.yield(now)
	return all
}

// leave counts what an upload holds as leaving: it gets no more. mu is held.
func (i *Intake) leave(u *Upload) {
	u.over.Store(true)
	u.left = u.held.Load()
	i.leaving += u.left
}

// yield refuses requests that have waited for long and hold more than a smaller waiting request would hold in total,
// the largest first, and no more than the smaller ones need. mu is held.
func (i *Intake) yield(now time.Time) {
	var wanted int64 // by those before w
	small := 0
	for last := len(i.waiting) - 1; small < last; last-- {
		for small < last && i.used.Load()-i.leaving+wanted+i.waiting[small].bytes <= i.room() {
			wanted += i.waiting[small].bytes
			small++
		}
		w := i.waiting[last]
		may := w.upload.end != nil && w.upload != i.chief && now.Sub(w.since) >= i.stall
		if !may || w.upload.held.Load() <= i.waiting[small].size {
			continue
		}
		i.leave(w.upload)
		w.leaves = true
		i.waiting = slices.Delete(i.waiting, last, last+1)
		close(w.ready)
	}
}
