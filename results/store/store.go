// Package store keeps results. It knows their form and the few columns they
// are listed by, not what they mean; and it keeps every promise about not
// losing one: a result is stored whole and durably, or Put says that it is not.
package store

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"wirelab"
	"wirelab/internal/nearest"
	"wirelab/lab/plan"
	"wirelab/lab/result"
)

// Store keeps results by id. All methods are safe for concurrent use, also by
// several processes on one store. Package storetest holds its contract as tests.
type Store interface {
	// Put stores a result durably before it returns: all of it or nothing.
	// The errors are InvalidArgument for one that [Check] refuses, Conflict
	// where its id is taken, and ResourceExhausted where there is no room; in
	// each case what was stored before is untouched. See [Rescue].
	Put(ctx context.Context, r *result.Result) error
	// PutText is Put for a result that another store has: what is kept is this
	// text, byte for byte, and so its digest. A result made from it and written
	// again might differ, where a later wirelab has more fields. InvalidArgument
	// and Unimplemented are as in [Decode].
	PutText(ctx context.Context, text []byte) error
	// PutPacked is PutText for what [PackDecoded] or [PackText] packed: of a large result it takes seconds to decode it
	// again. Its Origin is stored with it: both or neither.
	PutPacked(ctx context.Context, p Packed) error
	// Digest returns the digest of the result with exactly that id, "" if it was
	// put by a wirelab that took none. Otherwise NotFound.
	Digest(ctx context.Context, id string) (string, error)
	// Get returns the result with that id, or that name, or with the only id
	// that begins so. NotFound lists the latest ids, InvalidArgument the ids that
	// begin so, or have that name, if there are several, Internal tells of one
	// that is damaged.
	Get(ctx context.Context, id string) (*result.Result, error)
	// Raw returns what is stored under an id, found as by Get, for who checks
	// it: it may be damaged or edited, as long as it is there.
	Raw(ctx context.Context, id string) (Stored, error)
	// List returns summaries, the latest first; of those that began at one
	// time, the greatest id first. The time it takes does not grow with what
	// the results hold, only with how many are looked at.
	List(ctx context.Context, f Filter) ([]Summary, error)
	// Total tells of everything that a filter selects, whatever its After and
	// Limit.
	Total(ctx context.Context, f Filter) (Total, error)
	// Values returns what results can be selected by; each value finds at
	// least one.
	Values(ctx context.Context) (Values, error)
	// SetLabel names a result, found as by Get, and returns its whole id; "" takes
	// the name away. The name is kept beside the result: its text and digest stay
	// as they are. The errors are those of [CheckLabel] and of Get.
	SetLabel(ctx context.Context, id, label string) (whole string, err error)
	// SetFinding keeps beside the result with exactly that id what lists say of
	// it, in a form that the store does not know. It follows from the result and
	// can be made again, so it need not be durable. NotFound if there is none.
	SetFinding(ctx context.Context, id, finding string) error
	// SetOrigin keeps beside the result with exactly that id from where it came; see [Origin]. NotFound if there is
	// none.
	SetOrigin(ctx context.Context, id, origin string) error
	// Delete removes the result with exactly that id: nothing measured should
	// be lost to an abbreviation. Otherwise NotFound.
	Delete(ctx context.Context, id string) error

	// Report keeps what an experiment that runs tells of itself, in place of
	// what it told before, and removes what is older than [ForgottenAfter]. It
	// waits for nobody longer than a moment and is not durable: it is news. The
	// errors are InvalidArgument for what [CheckRunning] refuses, Unavailable
	// where somebody else writes for too long, and those of Put.
	Report(ctx context.Context, r Running) error
	// Running returns what experiments told last, the latest to begin first;
	// at most [RunningLimit]. An experiment is not among them once its result
	// is put.
	Running(ctx context.Context) ([]Running, error)
	// Forget removes what an experiment told. It is no error if there is nothing.
	Forget(ctx context.Context, id string) error

	Close() error
}

// Stored is a result as a store has it.
type Stored struct {
	// Summary is what lists show of it.
	Summary Summary
	// JSON is the result's text; nil if it cannot even be unpacked, and Damage
	// then says why.
	JSON   []byte
	Damage string
	// Digest is the [result.Digest] of what was put; "" if it was put by a
	// wirelab that took none.
	Digest string
	// Origin is what [Store.PutPacked] or [Store.SetOrigin] kept; "" where nobody said it.
	Origin string
}

// Measured is the origin of a result that the program that measured it stored.
const Measured = "stored by the wirelab that measured it"

// Origin is the origin of a result that came from outside, in one sentence: how says by which way, such as "imported
// from x.json". sealed is whether it came with a digest, which was checked.
func Origin(how string, now time.Time, sealed bool) string {
	text := plan.Harmless(how, false) + " on " + now.UTC().Format("2006-01-02 15:04 UTC")
	if sealed {
		return text + "; its digest was checked"
	}
	return text + "; it came without a digest, so that an edit before would not show"
}

// Filter selects summaries. The zero value selects the latest [ListDefault].
type Filter struct {
	Name      string    // exactly this plan name, or this label
	Hide      string    // none of this plan name
	Workload  string    // exactly this workload
	Operation string    // a load of exactly this operation
	Protocol  string    // at least one arm over this protocol
	Host      string    // run on exactly this machine
	Since     time.Time // began then or later
	Until     time.Time // began before
	After     Cursor    // listed after that place; the zero value: from the first
	Limit     int       // 1 to [ListLimit]; 0: ListDefault
}

// Size is the limit that holds for a list. Its error is InvalidArgument.
func (f Filter) Size() (int, error) {
	switch {
	case f.Limit == 0:
		return ListDefault, nil
	case f.Limit < 0 || f.Limit > ListLimit:
		return 0, wirelab.Errorf(wirelab.InvalidArgument, "limit is %d; it must be 1 to %d", f.Limit, ListLimit)
	}
	return f.Limit, nil
}

// Total is what a filter selects, taken together.
type Total struct {
	Results int   `json:"results"`
	Bytes   int64 `json:"bytes"` // as stored
}

// Cursor is a place in a list: that of one result, whether or not it is still
// there. A list that goes on after it neither repeats nor leaves out what was
// there all the while, however many results come and go: a place counted from
// the beginning would do both.
type Cursor struct {
	Began time.Time // to the microsecond
	ID    string
}

// Cursor returns the place of a result in lists.
func (s Summary) Cursor() Cursor { return Cursor{Began: s.Began, ID: s.ID} }

// IsZero reports whether it is the place before the first.
func (c Cursor) IsZero() bool { return c.ID == "" && c.Began.IsZero() }

// String is the cursor for addresses and programs; "" for the zero value.
// [ParseCursor] reads it, and nobody else should.
func (c Cursor) String() string {
	if c.IsZero() {
		return ""
	}
	return fmt.Sprintf("%d.%s", c.Began.UnixMicro(), c.ID)
}

// ParseCursor is the inverse of [Cursor.String]. Its error is InvalidArgument.
func ParseCursor(text string) (Cursor, error) {
	if text == "" {
		return Cursor{}, nil
	}
	began, id, ok := strings.Cut(text, ".")
	micros, err := strconv.ParseInt(began, 10, 64)
	if !ok || err != nil || !idForm.MatchString(id) {
		return Cursor{}, wirelab.Errorf(wirelab.InvalidArgument, "cursor %.80q is not one that a list gave", text)
	}
	return Cursor{Began: time.UnixMicro(micros).UTC(), ID: id}, nil
}

// The bounds of one list.
const (
	ListDefault = 50
	ListLimit   = 10_000
)

// Summary is what a list tells about a result.
type Summary struct {
	ID       string `json:"id"`
	Name     string `json:"name,omitempty"` // the plan's
	Workload string `json:"workload"`
	// Operations are those that the loads call, each once.
	Operations []string      `json:"operations"`
	Protocols  []string      `json:"protocols"` // of the arms, in order, without repeats
	Arms       int           `json:"arms"`
	Loads      int           `json:"loads"`
	Rounds     int           `json:"rounds"`
	Began      time.Time     `json:"began"` // to the microsecond, in UTC
	Ended      time.Time     `json:"ended"`
	Ending     result.Ending `json:"ending"`
	Host       string        `json:"host,omitempty"`
	Commit     string        `json:"commit,omitempty"`
	Bytes      int           `json:"bytes"` // as stored
	// Label is the name that somebody gave it, and Finding what [Store.SetFinding] kept; "" without.
	Label   string `json:"label,omitempty"`
	Finding string `json:"-"`
}

// Harmless makes its texts such that they can be shown; see [plan.Harmless]. An older wirelab, or somebody else, may
// have written them.
func (s *Summary) Harmless() {
	for _, text := range []*string{&s.Name, &s.Workload, &s.Host, &s.Commit, &s.Label, (*string)(&s.Ending)} {
		*text = plan.Harmless(*text, false)
	}
	for _, list := range [][]string{s.Operations, s.Protocols} {
		for i := range list {
			list[i] = plan.Harmless(list[i], false)
		}
	}
}

// Summarize returns the summary of a result; Bytes is for the store to fill in.
func Summarize(r *result.Result) Summary {
	s := Summary{
		ID:         r.ID,
		Name:       r.Plan.Name,
		Workload:   r.Plan.Workload,
		Operations: r.Plan.Operations(),
		Protocols:  []string{},
		Arms:       len(r.Plan.Arms),
		Loads:      len(r.Plan.Loads),
		Rounds:     cmp.Or(len(r.Capacity.Searched()), len(r.Rounds)), // of one kind
		Began:      r.Began.UTC().Truncate(time.Microsecond),
		Ended:      r.Ended.UTC().Truncate(time.Microsecond),
		Ending:     r.Ending,
		Host:       r.Environment.Host,
		Commit:     r.Environment.Commit,
	}
	for _, a := range r.Plan.Arms {
		if !slices.Contains(s.Protocols, a.Protocol) {
			s.Protocols = append(s.Protocols, a.Protocol)
		}
	}
	return s
}

// idForm is what an id looks like. Ids sort by time.
var idForm = regexp.MustCompile(`^r-[0-9]{8}-[0-9]{6}-[0-9a-f]{4}$`)

// NewID returns an id for a result that begins now, such as
// "r-20261121-140512-7f3a" (UTC). The random part tells apart what begins in
// one second; two that still clash get a Conflict from Put.
func NewID(now time.Time, r *rand.Rand) string {
	return fmt.Sprintf("r-%s-%04x", now.UTC().Format("20060102-150405"), r.IntN(1<<16))
}

// DefaultPath returns where results are kept: $WIRELAB_STORE, else
// $XDG_DATA_HOME/wirelab/results.db, else ~/.local/share/wirelab/results.db.
func DefaultPath(getenv func(string) string) (string, error) {
	if path := getenv("WIRELAB_STORE"); path != "" {
		return path, nil
	}
	// The specification of XDG says to ignore a relative path.
	data := getenv("XDG_DATA_HOME")
	if !filepath.IsAbs(data) {
		home := getenv("HOME")
		if home == "" {
			return "", wirelab.Errorf(wirelab.InvalidArgument,
				"no place to keep results: neither WIRELAB_STORE nor HOME is set; set WIRELAB_STORE to a file")
		}
		data = filepath.Join(home, ".local", "share")
	}
	return filepath.Join(data, "wirelab", "results.db"), nil
}

// Resolve returns the one id that is, or begins with, text. ids are those
// that begin so, as many as [ResolveLimit]. It is for stores, so that they all answer alike.
func Resolve(text string, ids []string) (string, error) {
	switch {
	case slices.Contains(ids, text):
		return text, nil
	case len(ids) == 1 && text != "":
		return ids[0], nil
	case len(ids) == 0:
		return "", NoSuch(text, nil, nil)
	}
	more := ""
	if len(ids) >= ResolveLimit {
		more = ", …"
	}
	return "", wirelab.Errorf(wirelab.InvalidArgument, "%q is not one result but begins %s%s", text,
		strings.Join(ids, ", "), more)
}

// Named returns the one id that has a name, "" if none has. It is for stores, as [Resolve] is.
func Named(label string, ids []string) (string, error) {
	switch len(ids) {
	case 0:
		return "", nil
	case 1:
		return ids[0], nil
	}
	more := ""
	if len(ids) >= ResolveLimit {
		more = ", …"
	}
	return "", wirelab.Errorf(wirelab.InvalidArgument, "several results are named %q: %s%s", label,
		strings.Join(ids, ", "), more)
}

// labelLimit is how many characters a name may have: what a line of a list has room for.
const labelLimit = 60

// CheckLabel reports whether a text can name a result: it must not be read as anything else that does.
func CheckLabel(label string) error {
	switch {
	case !utf8.ValidString(label) || strings.ContainsFunc(label, func(r rune) bool { return !unicode.IsPrint(r) }):
		return wirelab.Errorf(wirelab.InvalidArgument, "name %.80q has characters that cannot be printed", label)
	case strings.TrimSpace(label) != label || !strings.ContainsFunc(label, plan.Shows):
		return wirelab.Errorf(wirelab.InvalidArgument,
			"name %.80q is empty, or has nothing that can be seen, or begins or ends with a space", label)
	case utf8.RuneCountInString(label) > labelLimit:
		return wirelab.Errorf(wirelab.InvalidArgument, "name %.80q has more than %d characters", label, labelLimit)
	case label[0] == '-' || label == "latest" || strings.HasPrefix(label, "r-"):
		return wirelab.Errorf(wirelab.InvalidArgument,
			"name %.80q would be read as a flag, as the latest result or as an id: choose another", label)
	}
	return nil
}

// ResolveLimit is how many ids an error lists.
const ResolveLimit = 8

// NearLimit is how many results a store looks through for one that may have been meant.
const NearLimit = 1000

// latestShown is how many of the latest results an error names.
const latestShown = 3

// NoSuch is the error for an id or a name that is not there. ids are those of the latest results, the latest
// first, and labels the names that they have.
func NoSuch(text string, ids, labels []string) error {
	said := "nothing is stored yet"
	if near := nearest.Names(text, slices.Concat(labels, ids)); len(near) > 0 {
		for i, name := range near {
			if strings.Contains(name, " ") {
				near[i] = strconv.Quote(name) // as it is typed
			}
		}
		said = "did you mean " + strings.Join(near, " or ") + "?"
	} else if len(ids) > 0 {
		said = "the latest are " + strings.Join(ids[:min(latestShown, len(ids))], ", ")
	}
	return &wirelab.Error{
		Code: wirelab.NotFound, Message: fmt.Sprintf("no result %.40q; %s", text, said),
		Unknown: text,
	}
}

// makePrivate makes a directory that only its owner can read: results name
// hosts and command lines.
func makePrivate(dir string) error { return os.MkdirAll(dir, 0o700) }
