package logging

import (
	"time"

	"wirelab"
)

// The types and functions below define replies, for memory and every database alike.

// Most returns the maximum number of entries on the page.
func (q Query) Most() int {
	if q.Limit == 0 {
		return PageLimit
	}
	return int(q.Limit)
}

// Page is a page being filled, newest entry first. The zero value with a Limit is empty.
type Page struct {
	Limit int // entries
	list  EntryList
	bytes int
}

// Add adds an entry to the page, and reports whether there is room for another.
func (p *Page) Add(s Stored) bool {
	p.list.Entries = append(p.list.Entries, s)
	p.bytes += len(s.Name) + len(s.Data)
	return len(p.list.Entries) < p.Limit && p.bytes < PageBytes
}

// List returns the page, with the position at which the next one begins.
func (p *Page) List() EntryList {
	n := len(p.list.Entries)
	if n > 0 && (n >= p.Limit || p.bytes >= PageBytes) {
		p.list.Next = p.list.Entries[n-1].Position
	}
	return p.list
}

// Again answers an entry whose id is that of a stored one: with the id if it is the same entry, else with Conflict.
func (e Entry) Again(same bool) (Written, error) {
	if !same {
		return Written{}, wirelab.Errorf(wirelab.Conflict, "entry %s is stored with another content", e.ID)
	}
	return Written{ID: e.ID, again: true}, nil
}

// Later returns the time of an entry stored now, after one with the time last: to the microsecond, and never before
// last.
func Later(now, last time.Time) time.Time {
	now = now.UTC().Truncate(time.Microsecond)
	if now.Before(last) {
		return last
	}
	return now
}

// UnknownEntry returns the error for an unknown entry.
func UnknownEntry(id string) error {
	return wirelab.Errorf(wirelab.NotFound, "there is no entry %q", id)
}
