// Package store keeps results. It knows their format and the few columns that lists use, and not what results mean.
// It never loses a result silently: a result is stored completely and durably, or Put returns an error.
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

// Store keeps results by id. All methods are safe for concurrent use, also by several processes on one store. Package
// storetest tests this contract.
type Store interface {
	// Put stores a result durably before it returns: all of it or nothing. The errors are InvalidArgument for a
	// result that [Check] refuses, Conflict if its id is taken, and ResourceExhausted if there is no space. After an
	// error the store is unchanged. See [Rescue].
	Put(ctx context.Context, r *result.Result) error
	// PutText is Put for the text of a result from another store. It keeps the text byte for byte, and so its digest.
	// Decoding and encoding the result again might change it, since a later version may have more fields.
	// InvalidArgument and Unimplemented are as in [Decode].
	PutText(ctx context.Context, text []byte) error
	// PutPacked is PutText for a result that [PackDecoded] or [PackText] packed, since decoding a large result again
	// takes seconds. It stores the result and its Origin together, or neither.
	PutPacked(ctx context.Context, p Packed) error
	// Digest returns the digest of the result with exactly that id; "" if the version that stored it computed none.
	// Otherwise it returns NotFound.
	Digest(ctx context.Context, id string) (string, error)
	// Get returns the result with that id or that label, or the only one whose id begins so. The errors are NotFound,
	// which lists the latest ids; InvalidArgument, which lists the ids if several match; and Internal for a damaged
	// result.
	Get(ctx context.Context, id string) (*result.Result, error)
	// Raw returns the stored data of a result, found as by Get, for callers that verify it. The data may be damaged
	// or edited.
	Raw(ctx context.Context, id string) (Stored, error)
	// List returns summaries, the latest first; of those with the same beginning, the greatest id first. The time it
	// takes depends on how many results are read, and not on their size.
	List(ctx context.Context, f Filter) ([]Summary, error)
	// Total sums up everything that a filter selects, regardless of its After and Limit.
	Total(ctx context.Context, f Filter) (Total, error)
	// Values returns the values that filters can have. Each value finds at least one result.
	Values(ctx context.Context) (Values, error)
	// SetLabel names a result, found as by Get, and returns its whole id; "" removes the name. The name is stored
	// next to the result, whose text and digest do not change. The errors are those of [CheckLabel] and of Get.
	SetLabel(ctx context.Context, id, label string) (whole string, err error)
	// SetFinding stores a text for lists next to the result with exactly that id. The store does not know its format.
	// The text can be derived from the result again, so it need not be durable. The error is NotFound if there is no
	// such result.
	SetFinding(ctx context.Context, id, finding string) error
	// SetOrigin stores where the result with exactly that id came from; see [Origin]. The error is NotFound if there
	// is no such result.
	SetOrigin(ctx context.Context, id, origin string) error
	// Delete removes the result with exactly that id. It accepts no abbreviation, so that a typing mistake cannot
	// delete another result. Otherwise it returns NotFound.
	Delete(ctx context.Context, id string) error

	// Report replaces the progress of a running experiment, and removes progress older than [ForgottenAfter]. It
	// waits for other writers only for a moment, and it is not durable. The errors are InvalidArgument for what
	// [CheckRunning] refuses, Unavailable if another writer takes too long, and those of Put.
	Report(ctx context.Context, r Running) error
	// Running returns the latest progress of experiments, the latest to begin first; at most [RunningLimit]. An
	// experiment is no longer in it once its result is stored.
	Running(ctx context.Context) ([]Running, error)
	// Forget removes the progress of an experiment. It is no error if there is none.
	Forget(ctx context.Context, id string) error

	Close() error
}

// Stored is a result as a store has it.
type Stored struct {
	// Summary is its entry in lists.
	Summary Summary
	// JSON is the result's text. It is nil if the data cannot be unpacked; Damage then says why.
	JSON   []byte
	Damage string
	// Digest is the [result.Digest] of the text that was stored; "" if the version that stored it computed none.
	Digest string
	// Origin is what [Store.PutPacked] or [Store.SetOrigin] stored; "" if it is not known.
	Origin string
}

// Measured is the origin of a result that was stored by the program that measured it.
const Measured = "stored by the wirelab that measured it"

// Origin describes in one sentence how a result came from outside. how is the way, such as "imported from x.json".
// sealed reports whether it came with a digest, which was checked.
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
	Hide      string    // no results of this plan name
	Workload  string    // exactly this workload
	Operation string    // a load of exactly this operation
	Protocol  string    // at least one arm uses this protocol
	Host      string    // measured on exactly this machine
	Since     time.Time // began at this time or later
	Until     time.Time // began before
	After     Cursor    // after this place in the list; the zero value: from the beginning
	Limit     int       // 1 to [ListLimit]; 0: ListDefault
}

// Size returns the limit of a list. Its error is InvalidArgument.
func (f Filter) Size() (int, error) {
	switch {
	case f.Limit == 0:
		return ListDefault, nil
	case f.Limit < 0 || f.Limit > ListLimit:
		return 0, wirelab.Errorf(wirelab.InvalidArgument, "limit is %d; it must be 1 to %d", f.Limit, ListLimit)
	}
	return f.Limit, nil
}

// Total sums up what a filter selects.
type Total struct {
	Results int   `json:"results"`
	Bytes   int64 `json:"bytes"` // as stored
}

// Cursor is a place in a list: that of one result, whether it still exists or not. A list that continues after it
// neither repeats nor misses a result that was there all the time, however many results are added and removed. An
// offset from the beginning would do both.
type Cursor struct {
	Began time.Time // to the microsecond
	ID    string
}

// Cursor returns the place of a result in lists.
func (s Summary) Cursor() Cursor { return Cursor{Began: s.Began, ID: s.ID} }

// IsZero reports whether it is the place before the first.
func (c Cursor) IsZero() bool { return c.ID == "" && c.Began.IsZero() }

// String returns the cursor for addresses and programs; "" for the zero value. Only [ParseCursor] should interpret
// it.
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

// The limits of one list.
const (
	ListDefault = 50
	ListLimit   = 10_000
)

// Summary is the entry of a result in a list.
type Summary struct {
	ID       string `json:"id"`
	Name     string `json:"name,omitempty"` // the plan's
	Workload string `json:"workload"`
	// Operations are the operations that the loads call, each once.
	Operations []string      `json:"operations"`
	Protocols  []string      `json:"protocols"` // of the arms, in order, without duplicates
	Arms       int           `json:"arms"`
	Loads      int           `json:"loads"`
	Rounds     int           `json:"rounds"`
	Began      time.Time     `json:"began"` // to the microsecond, in UTC
	Ended      time.Time     `json:"ended"`
	Ending     result.Ending `json:"ending"`
	Host       string        `json:"host,omitempty"`
	Commit     string        `json:"commit,omitempty"`
	Bytes      int           `json:"bytes"` // as stored
	// Label is the name that a user gave it. Finding is what [Store.SetFinding] stored. Both are "" if not set.
	Label   string `json:"label,omitempty"`
	Finding string `json:"-"`
}

// Harmless makes its texts safe to display; see [plan.Harmless]. An earlier version, or another program, may have
// written them.
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

// Summarize returns the summary of a result. The store sets Bytes.
func Summarize(r *result.Result) Summary {
	s := Summary{
		ID:         r.ID,
		Name:       r.Plan.Name,
		Workload:   r.Plan.Workload,
		Operations: r.Plan.Operations(),
		Protocols:  []string{},
		Arms:       len(r.Plan.Arms),
		Loads:      len(r.Plan.Loads),
		Rounds:     cmp.Or(len(r.Capacity.Searched()), len(r.Rounds)), // a result has only one kind of rounds
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

// idForm matches ids. Ids sort by time.
var idForm = regexp.MustCompile(`^r-[0-9]{8}-[0-9]{6}-[0-9a-f]{4}$`)

// NewID returns an id for a result that begins now, such as "r-20261121-140512-7f3a" (UTC). The random part
// distinguishes results that begin in the same second. If two ids are equal all the same, Put returns Conflict.
func NewID(now time.Time, r *rand.Rand) string {
	return fmt.Sprintf("r-%s-%04x", now.UTC().Format("20060102-150405"), r.IntN(1<<16))
}

// DefaultPath returns where results are stored: $WIRELAB_STORE, else $XDG_DATA_HOME/wirelab/results.db, else
// ~/.local/share/wirelab/results.db.
func DefaultPath(getenv func(string) string) (string, error) {
	if path := getenv("WIRELAB_STORE"); path != "" {
		return path, nil
	}
	// The XDG specification says to ignore a relative path.
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

// Resolve returns the one id that equals text or begins with it. ids are the ids that begin so, up to [ResolveLimit].
// Stores use it, so that they all answer alike.
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

// Named returns the one id that has a label; "" if none has. Stores use it, as they use [Resolve].
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

// labelLimit is the greatest length of a label in characters, which fits into a line of a list.
const labelLimit = 60

// CheckLabel returns an error if a text cannot be the label of a result, for example because it could be read as an
// id.
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

// NearLimit is how many results a store searches for similar names when none matches.
const NearLimit = 1000

// latestShown is how many of the latest results an error names.
const latestShown = 3

// NoSuch returns the error for an id or a label that does not exist. ids are those of the latest results, the latest
// first, and labels their labels.
func NoSuch(text string, ids, labels []string) error {
	said := "nothing is stored yet"
	if near := nearest.Names(text, slices.Concat(labels, ids)); len(near) > 0 {
		for i, name := range near {
			if strings.Contains(name, " ") {
				near[i] = strconv.Quote(name) // with the quotes that the user types
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

// makePrivate makes a directory that only its owner can read, since results contain host names and command lines.
func makePrivate(dir string) error { return os.MkdirAll(dir, 0o700) }
