package logging

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"wirelab"
)

// Ways to write other than the default.
const (
	// Published entries are as large as those of the published benchmark: a name and data of 32 bytes, which make
	// 76 in the origin's envelope (ms-F64). Each has a unique id; the origin's have none, so that nothing can be
	// audited (ms-M15).
	Published = "published"
	// Again draws from a few entries that every caller writes, over and over: each call but the first for an entry
	// finds it stored, and all get the same answer.
	Again = "again"
)

const (
	stem      = "load-" // of the ids and names of drawn entries
	dataDrawn = 2_000   // maximum length of drawn data in bytes, roughly
	againIDs  = 64
)

// Operations returns the four calls and the ways to draw requests for them. Replies
// must not depend on what other callers do, nor on what a database held before:
//
//   - A written entry has an id that no other caller draws, or the content that
//     every caller draws for it; the reply is the id either way.
//   - Reads ask for entries that cannot be there: ids and names that no drawing
//     writes, times before this program existed, positions before the first.
//     So a load of reads searches each index and finds nothing. Scripts and
//     databasetest check the replies of successful reads.
//   - Removals ask for entries stored before there were loggers: there are none.
func Operations() []wirelab.Operation[Service] {
	return []wirelab.Operation[Service]{
		wirelab.Following("WriteLog", drawEntry, Service.WriteLog, func(e Entry) string { return e.ID },
			wirelab.Drawing[Entry]{Name: Published, Draw: drawPublished},
			wirelab.Drawing[Entry]{Name: Again, Draw: drawAgain}),
		wirelab.Unary("GetEntry", func(r *rand.Rand) EntryID {
			return EntryID{ID: "none-" + strconv.FormatUint(r.Uint64(), 36)}
		}, Service.GetEntry),
		wirelab.Unary("ListEntries", drawQuery, Service.ListEntries),
		wirelab.Unary("DeleteEntries", func(r *rand.Rand) Retention { return Retention{Before: drawPast(r)} },
			Service.DeleteEntries),
	}
}

// drawID draws an id that no other call has: with 1.8e19 of them a collision is not to be expected.
func drawID(r *rand.Rand) string { return stem + strconv.FormatUint(r.Uint64(), 36) }

// drawEntry draws an entry with a name that others have too, and with data from none to a few lines, partly outside
// ASCII and partly escaped in JSON.
func drawEntry(r *rand.Rand) Entry {
	words := [...]string{
		"event", "took", "42 ms", "user=7", `"quoted"`, "naïve", "Grüße", "日本語", "a\\b", "<b>&amp;</b>", "\n",
		"\U0001F4DC",
	}
	var data strings.Builder
	for most := r.IntN(dataDrawn) * r.IntN(2); data.Len() < most; { // half are empty
		data.WriteString(words[r.IntN(len(words))])
		data.WriteByte(' ')
	}
	return Entry{ID: drawID(r), Name: stem + strconv.Itoa(r.IntN(16)), Data: data.String()}
}

// drawPublished draws an entry of the published size.
func drawPublished(r *rand.Rand) Entry {
	return Entry{ID: drawID(r), Name: "benchmark", Data: "published log entry " + strconv.Itoa(100+r.IntN(900))}
}

// drawAgain draws one of the entries that are written over and over.
func drawAgain(r *rand.Rand) Entry {
	n := strconv.Itoa(r.IntN(againIDs))
	return Entry{ID: "again-" + n, Name: "again", Data: "entry " + n + " of those that are written over and over"}
}

// drawPast draws a time before any entry was stored, to the microsecond.
func drawPast(r *rand.Rand) time.Time {
	begin := time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC)
	return begin.Add(time.Duration(r.Int64N(int64(10 * 365 * 24 * time.Hour)))).Truncate(time.Microsecond)
}

// drawQuery draws a query that finds nothing, each kind by a different index.
func drawQuery(r *rand.Rand) Query {
	q := Query{Limit: int32(r.IntN(PageLimit + 1))}
	switch r.IntN(4) {
	case 0:
		q.Name = "none-" + strconv.FormatUint(r.Uint64(), 36)
	case 1:
		q.Until = drawPast(r)
	case 2:
		q.Since = drawPast(r)
		q.Until = q.Since.Add(time.Duration(r.Int64N(int64(time.Hour)))).Truncate(time.Microsecond)
		q.Name = stem + strconv.Itoa(r.IntN(16))
	default:
		q.Before = 1
		if r.IntN(2) == 0 {
			q.Name = stem + strconv.Itoa(r.IntN(16))
		}
	}
	return q
}
