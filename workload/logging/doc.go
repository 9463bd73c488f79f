// Package logging is the workload of the published comparison of calls and
// queues: a logger that stores entries and finds them again. It knows no wire,
// and no database, only that there may be one behind its [Service].
//
// # The contract
//
// The reference [New] decides everything that this text leaves open.
//
//   - An entry has an id of 1 to 64 characters ([IDLimit]) of A-Z a-z 0-9 . _ ~ -
//     other than "." and ".."; a name of 1 to 128 bytes ([NameLimit]); and data of
//     0 to 524,288 bytes ([DataLimit]). Names and data are UTF-8 without NUL, which
//     PostgreSQL does not store, and are returned byte for byte. Any other entry
//     is InvalidArgument and is not stored.
//   - WriteLog returns once the entry is stored: in a database, once the commit
//     that holds it is on disk (S2). A call that failed otherwise than with
//     InvalidArgument or Conflict, or was cancelled, may have stored it; the same
//     call again settles it.
//   - An entry is stored once: the same again (id, name and data) gets the first
//     answer, and nothing is stored. The same id with another content is
//     Conflict. Of several at once one is first, and the others find it stored.
//   - An entry without an id gets one of 26 characters ([NewID]), so that each call
//     stores one. A caller that may have to send an entry twice sets its id first.
//   - A stored entry has a position: 1 for the first, and a higher one for every
//     later one. None is used twice. There may be gaps, but not in what one caller
//     stores in a service without other callers. It has the time when it was
//     stored, by the logger's clock (or the database's, if it has one), in UTC to
//     the microsecond; times never decrease along positions, several may be equal.
//     No reader sees a position before one below it that is still to come.
//   - GetEntry of an unknown entry is NotFound.
//   - ListEntries returns the entries that meet every given condition, by position
//     from the highest. Name is the whole name, byte for byte. Since is the
//     earliest time included, Until the earliest excluded; Before is the lowest
//     position excluded. Times are to the microsecond, in the years 1 to 9999;
//     the zero time means none. Conditions that contradict each other find
//     nothing, and that is no error.
//   - A page is full with Limit entries (0 to 1,000; 0 means 1,000), or with
//     the one that brings it to 524,288 bytes of names and data ([PageBytes]). Next
//     is then the position of its last entry, to be the next page's Before; else it
//     is 0. A full page may be the last one. Pages read so, one after the other,
//     hold each entry once that was there when the first was read and was not
//     removed.
//   - DeleteEntries removes the entries stored before a time, and returns their
//     number. Without a time it is InvalidArgument. A removed id is free, so the
//     same entry, sent again, is stored again. Retention must therefore be longer
//     than any queue keeps messages that it delivers again. A database removes in
//     bounded steps: a call that is cancelled has removed some. Entries stored
//     while it runs stay.
//   - A service in memory keeps 5,000,000 entries ([StoredLimit]), a database as
//     many as its disk holds; one more is ResourceExhausted. Nothing is removed
//     to make room.
//   - An unavailable database is Unavailable; one that fails otherwise is Internal,
//     and its error text is not shown (S9).
//
// Requests are checked by their Validate at every entry point before they are sent
// on, since the systems behind differ in their treatment of text they cannot carry:
// a bad entry gets the same error, whether it would have gone by a call or a queue.
//
// There is one data set, which is empty; see [Operations] for what can be checked
// of a log that all callers write to.
//
// # Differences from the origin, and why
//
// The published logger inserts a document per call and answers with a fixed word
// (ms-F20, ms-F21); of its five ways to read and change entries none can be
// called (ms-F24). Its entries have no id that a caller knows, so an entry sent
// twice cannot be distinguished from two entries, and a lost one cannot be named
// (ms-M15, R2). Here the caller may choose the id, and writing is idempotent. It
// stores an entry without a name, which is what an unreadable body becomes
// (ms-D02); here it is refused. A missing entry ends the process (ms-D01); here a
// request is a value, which cannot be missing. It reports a failure of the
// database as the caller's fault (ms-D17). Calls to the database have no deadline,
// its list no end, and its collection no index (ms-D16); here every statement ends
// with its caller, a list comes in pages, and every condition has an index. Update
// is left out, since entries of a log do not change, and so is dropping all of
// it: DeleteEntries needs a time (ms-F24, S14). Times are to the microsecond
// instead of the millisecond, and updated_at, which nothing updates, is gone
// (ms-F23).
package logging
