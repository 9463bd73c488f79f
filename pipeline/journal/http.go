package journal

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"wirelab"
)

// PageLimit is the maximum number of events in one reply, and the default.
const PageLimit = 10_000

// pageBytes is the maximum length of a reply that a reader accepts: PageLimit events of 512 bytes. Ids come from
// anyone who may publish a message; each byte of one takes at most six bytes of JSON.
const pageBytes = PageLimit * 512

// wireEvent is an event in JSON; At is in Unix nanoseconds.
type wireEvent struct {
	Seq  uint64 `json:"seq"`
	ID   string `json:"id"`
	What What   `json:"what"`
	At   int64  `json:"at"`
}

// wirePage is the reply to GET /journal.
type wirePage struct {
	Events []wireEvent `json:"events"`
	Next   uint64      `json:"next"`
	Lost   uint64      `json:"lost"`
	Began  int64       `json:"began"` // identifies the journal: when it was made, in Unix nanoseconds
}

// ServeHTTP answers GET /journal?after=SEQ&limit=N with the events after SEQ, oldest first, as
// {"events":[{"seq","id","what","at"}],"next","lost","began"}. Times are Unix nanoseconds. A reply holds at most
// [PageLimit] events.
func (j *Journal) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	after, limit, err := asked(r.URL.Query())
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	events, next, lost := j.Since(after, limit)
	page := wirePage{Events: make([]wireEvent, len(events)), Next: next, Lost: lost}
	if j != nil {
		page.Began = j.began.UnixNano()
	}
	for i, e := range events {
		page.Events[i] = wireEvent{Seq: e.Seq, ID: e.ID, What: e.What, At: e.At.UnixNano()}
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	// A write error needs no handling: a reader that lost the reply asks again with the same seq.
	_ = json.NewEncoder(w).Encode(page)
}

// asked parses the query.
func asked(query url.Values) (after uint64, limit int, err error) {
	limit = PageLimit
	if text := query.Get("after"); text != "" {
		if after, err = strconv.ParseUint(text, 10, 64); err != nil {
			return 0, 0, wirelab.Errorf(wirelab.InvalidArgument, "after must be a number from 0")
		}
	}
	if text := query.Get("limit"); text != "" {
		if limit, err = strconv.Atoi(text); err != nil || limit < 1 || limit > PageLimit {
			return 0, 0, wirelab.Errorf(wirelab.InvalidArgument, "limit must be 1 to %d", PageLimit)
		}
	}
	return after, limit, nil
}

// Page is one reply of a journal.
type Page struct {
	Events []Event // oldest first
	Next   uint64  // the value of after for the next page
	Lost   uint64  // events after the one asked with that had been overwritten
	Began  time.Time
}

// Read asks the journal at a URL such as http://127.0.0.1:8080/journal for the events after number after. A journal
// that cannot be reached, or whose reply is invalid, is Unavailable. Read uses the default client of net/http.
func Read(ctx context.Context, address string, after uint64) (Page, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet,
		address+"?after="+strconv.FormatUint(after, 10), http.NoBody)
	if err != nil {
		return Page{}, wirelab.Errorf(wirelab.InvalidArgument, "journal: %v", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		if ended := ctx.Err(); ended != nil {
			return Page{}, fmt.Errorf("journal: %w", ended)
		}
		return Page{}, wirelab.Errorf(wirelab.Unavailable, "journal: %v", err)
	}
	defer func() { _ = response.Body.Close() }() // it was only read
	body, err := io.ReadAll(io.LimitReader(response.Body, pageBytes+1))
	switch {
	case err != nil:
		return Page{}, wirelab.Errorf(wirelab.Unavailable, "journal at %s: %v", address, err)
	case response.StatusCode != http.StatusOK:
		return Page{}, wirelab.Errorf(wirelab.Unavailable, "journal at %s: %s", address, response.Status)
	case len(body) > pageBytes:
		return Page{}, wirelab.Errorf(wirelab.Unavailable, "journal at %s: the answer is longer than %d bytes", address,
			pageBytes)
	}
	var told wirePage
	if err := json.Unmarshal(body, &told); err != nil {
		return Page{}, wirelab.Errorf(wirelab.Unavailable, "journal at %s: %v", address, err)
	}
	page := Page{
		Events: make([]Event, len(told.Events)), Next: told.Next, Lost: told.Lost,
		Began: time.Unix(0, told.Began),
	}
	for i, e := range told.Events {
		if e.What == 0 {
			return Page{}, wirelab.Errorf(wirelab.Unavailable, "journal at %s: an event does not say what happened",
				address)
		}
		page.Events[i] = Event{Seq: e.Seq, ID: e.ID, What: e.What, At: time.Unix(0, e.At)}
	}
	return page, nil
}

// Reader follows one journal from its first event. It must be used by one goroutine only.
type Reader struct {
	URL   string // of GET /journal
	Lost  uint64 // events overwritten before they were read, so far
	Anew  int    // how often the journal was replaced because its process was restarted
	after uint64
	began time.Time
}

// Next returns the events since the last Next, at most [PageLimit]; none if there are none. If the process behind
// the URL was restarted, Next continues with the first event of the new journal. Events that the old journal
// recorded after the last Next are gone, and their number is unknown, so Lost does not count them.
func (r *Reader) Next(ctx context.Context) ([]Event, error) {
	page, err := Read(ctx, r.URL, r.after)
	if err != nil {
		return nil, err
	}
	if !r.began.IsZero() && !page.Began.Equal(r.began) {
		r.Anew++
		r.began = page.Began
		r.after = 0
		if page, err = Read(ctx, r.URL, 0); err != nil {
			return nil, err
		}
	}
	r.began, r.after = page.Began, page.Next
	r.Lost += page.Lost
	return page.Events, nil
}
