package logging

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"wirelab"
)

// Service is a logger. See the package comment for the contract.
type Service interface {
	// WriteLog stores an entry, and returns once it is stored. The same entry
	// again is not stored again.
	WriteLog(ctx context.Context, entry Entry) (Written, error)
	// GetEntry returns a stored entry, or NotFound.
	GetEntry(ctx context.Context, id EntryID) (Stored, error)
	// ListEntries returns one page of the stored entries, newest first.
	ListEntries(ctx context.Context, query Query) (EntryList, error)
	// DeleteEntries removes the entries stored before a time.
	DeleteEntries(ctx context.Context, retention Retention) (Deleted, error)
}

// Limits of the contract.
const (
	IDLimit   = 64      // characters of an entry's id
	NameLimit = 128     // bytes of an entry's name
	DataLimit = 1 << 19 // bytes of an entry's data
	PageLimit = 1_000   // entries of one page
	// PageBytes is how many bytes of names and data fill a page. With its last entry a page has less than twice as
	// many, which fit in one message on every wire even if JSON takes six bytes for each.
	PageBytes     = 1 << 19
	PositionLimit = 1<<53 - 1 // the largest exact integer in every encoding
	StoredLimit   = 5_000_000 // entries that a service in memory keeps
)

// Entry is an entry to be logged. ID makes it idempotent: the caller chooses it. If it is empty the logger chooses
// one, so that each call stores an entry.
type Entry struct {
	ID   string // "", or 1 to IDLimit of A-Z a-z 0-9 . _ ~ -
	Name string // 1 to NameLimit bytes of UTF-8 without NUL
	Data string // 0 to DataLimit bytes of UTF-8 without NUL
}

// Validate returns InvalidArgument for an entry outside the contract. It is called at every entry point before an
// entry is sent on, so that a bad entry gets the same error on every path.
func (e Entry) Validate() error {
	if e.ID != "" {
		if err := validID(e.ID); err != nil {
			return err
		}
	}
	if err := validName(e.Name); err != nil {
		return err
	}
	if len(e.Data) > DataLimit {
		return wirelab.Errorf(wirelab.InvalidArgument, "data of %d bytes; want at most %d", len(e.Data), DataLimit)
	}
	return validText("data", e.Data)
}

// validID accepts ids that need no escaping in a path, whatever the wire.
func validID(id string) error {
	if id == "" || len(id) > IDLimit || id == "." || id == ".." {
		return wirelab.Errorf(wirelab.InvalidArgument, "id %.*q is not 1 to %d characters", IDLimit, id, IDLimit)
	}
	for i := range len(id) {
		switch c := id[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '.', c == '_', c == '~', c == '-':
		default:
			return wirelab.Errorf(wirelab.InvalidArgument, "id %q holds other characters than A-Z a-z 0-9 . _ ~ -", id)
		}
	}
	return nil
}

func validName(name string) error {
	if name == "" || len(name) > NameLimit {
		return wirelab.Errorf(wirelab.InvalidArgument, "a name of %d bytes; want 1 to %d", len(name), NameLimit)
	}
	return validText("name", name)
}

// validText accepts text that every encoding and database can carry.
func validText(what, text string) error {
	switch {
	case !utf8.ValidString(text):
		return wirelab.Errorf(wirelab.InvalidArgument, "%s is not UTF-8", what)
	case strings.IndexByte(text, 0) >= 0:
		return wirelab.Errorf(wirelab.InvalidArgument, "%s holds NUL, which PostgreSQL does not store", what)
	}
	return nil
}

// validTime accepts times that every encoding and database can carry exactly: years 1 to 9999, to the microsecond.
// The zero time means none.
func validTime(what string, t time.Time) error {
	if t.IsZero() {
		return nil
	}
	if year := t.UTC().Year(); year < 1 || year > 9999 {
		return wirelab.Errorf(wirelab.InvalidArgument, "%s is in year %d, outside 1 to 9999", what, year)
	}
	if t.Nanosecond()%1000 != 0 {
		return wirelab.Errorf(wirelab.InvalidArgument, "%s %s is finer than a microsecond", what,
			t.UTC().Format(time.RFC3339Nano))
	}
	return nil
}

// Written is the id of a stored entry.
type Written struct {
	ID string
	// again is the result of [Written.Again]. It is not part of the contract and crosses no wire, so replies do not
	// differ by it.
	again bool
}

// Again reports whether the entry had been stored before. It is known only for a reply from the store itself, not
// over a wire.
func (w Written) Again() bool { return w.again }

// Equal reports whether the two are the same. Generated ids depend on the logger's clock and on chance, so any two
// of those are equal.
func (w Written) Equal(other Written) bool {
	return w.ID == other.ID || MadeID(w.ID) && MadeID(other.ID)
}

// String omits a generated id, as Equal does, so that two transcripts of the same calls are the same text.
func (w Written) String() string {
	if MadeID(w.ID) {
		return "{ID:(made)}"
	}
	return fmt.Sprintf("{ID:%s}", w.ID)
}

// EntryID names an entry.
type EntryID struct{ ID string }

// Validate returns InvalidArgument for an invalid id.
func (id EntryID) Validate() error { return validID(id.ID) }

// Stored is an entry in the form in which it is stored.
type Stored struct {
	Entry
	Position int64     // 1 for the first entry; increases, possibly with gaps
	At       time.Time // when it was stored, by the logger's clock; UTC, to the microsecond
}

// Equal reports whether the two are the same apart from the time of storing, which depends on the logger's clock:
// only whether both have one is compared. Ids are compared as in [Written.Equal].
func (s Stored) Equal(other Stored) bool {
	return Written{ID: s.ID}.Equal(Written{ID: other.ID}) && s.Name == other.Name && s.Data == other.Data &&
		s.Position == other.Position && s.At.IsZero() == other.At.IsZero()
}

// String omits what Equal ignores.
func (s Stored) String() string {
	return fmt.Sprintf("{%s Name:%q Data:%q Position:%d}", strings.Trim(Written{ID: s.ID}.String(), "{}"), s.Name,
		s.Data, s.Position)
}

// Query asks for entries, newest first.
type Query struct {
	Name   string    // only of that name; "": all
	Since  time.Time // stored then or later; the zero time: from the beginning
	Until  time.Time // stored before; the zero time: to the end
	Before int64     // a position: only entries before it; 0: from the newest
	Limit  int32     // maximum number of entries, 0 to PageLimit; 0: PageLimit
}

// Validate returns InvalidArgument for a query outside the contract.
func (q Query) Validate() error {
	switch {
	case q.Limit < 0 || q.Limit > PageLimit:
		return wirelab.Errorf(wirelab.InvalidArgument, "limit %d is outside 0 to %d", q.Limit, PageLimit)
	case q.Before < 0 || q.Before > PositionLimit:
		return wirelab.Errorf(wirelab.InvalidArgument, "before %d is outside 0 to %d", q.Before, int64(PositionLimit))
	}
	if q.Name != "" {
		if err := validName(q.Name); err != nil {
			return err
		}
	}
	if err := validTime("since", q.Since); err != nil {
		return err
	}
	return validTime("until", q.Until)
}

// EntryList is one page of entries.
type EntryList struct {
	Entries []Stored
	Next    int64 // Before of the next page; 0 unless the page is full, by entries or by bytes
}

// Equal reports whether the two are the same; nil equals empty.
func (l EntryList) Equal(other EntryList) bool {
	return l.Next == other.Next && slices.EqualFunc(l.Entries, other.Entries, Stored.Equal)
}

// Retention is a request to remove old entries.
type Retention struct{ Before time.Time } // entries stored before it are removed

// Validate returns InvalidArgument for a retention outside the contract. A missing time is one, so that leaving a
// field out cannot remove everything.
func (r Retention) Validate() error {
	if r.Before.IsZero() {
		return wirelab.Errorf(wirelab.InvalidArgument, "no time before which entries are to be removed")
	}
	return validTime("before", r.Before)
}

// Deleted is the number of removed entries.
type Deleted struct{ Count int64 }

// Equal reports whether the two are the same.
func (d Deleted) Equal(other Deleted) bool { return d == other }
