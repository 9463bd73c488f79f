// Package logging is the workload of the published comparison of calls and
// queues: a logger that stores entries and finds them again. It knows no wire,
// and no database but that there may be one behind its [Service].
//
// # The contract
//
// The reference [New] decides what this text leaves open.
//
//   - An entry has an id of 1 to 64 characters ([IDLimit]) of A-Z a-z 0-9 . _ ~ -
//     other than "." and ".."; a name of 1 to 128 bytes ([NameLimit]); and data of
//     0 to 524,288 bytes ([DataLimit]). Names and data are UTF-8 without NUL, which
//     PostgreSQL does not store, and come back byte by byte. Whatever is outside is
//     InvalidArgument and stores nothing.
//   - WriteLog returns once the entry is stored: in a database, once the commit
//     that holds it is on disk (S2). A call that failed otherwise than with
//     InvalidArgument or Conflict, or was given up, may have stored it; the same
//     call again settles it.
//   - An entry is stored once: the same again (id, name and data) is answered as
//     the first time, and nothing is stored. The same id with another content is
//     Conflict. Of several at once one is first, and the others find it stored.
//   - An entry without an id gets one of 26 characters ([NewID]), so that each call
//     stores one. Whoever may have to send an entry twice gives it an id first.
//   - A stored entry has a position: 1 for the first, and more for every later
//     one. None is given twice. There may be gaps, but not in what one caller
//     stores in a service of its own. It has the time when it was stored, by the
//     logger's clock (a database's, where it has one), in UTC to the microsecond;
//     times never decrease along positions, several may be equal. Nobody sees a
//     position before one below it that is still to come.
//   - GetEntry of an entry there is not is NotFound.
//   - ListEntries returns the entries that meet every condition given, by position
//     from the highest. Name is the whole name, byte by byte. Since is the first
//     time that is asked for, Until the first that is not; Before the lowest
//     position that is not. Times are to the microsecond, in the years 1 to 9999;
//     the zero time stands for none. Conditions that contradict each other find
//     nothing, and that is no error.
//   - A page is full with Limit entries (0 to 1,000; 0 stands for 1,000), or with
//     the one that brings it to 524,288 bytes of names and data ([PageBytes]). Next
//     is then the position of its last entry, to be the next page's Before; else it
//     is 0. Nothing may follow a full page. Pages read so, one after the other, hold
//     each entry once that was there when the first was read and was not removed.
//   - DeleteEntries removes what was stored before a time, and returns how much
//     that was. Without a time it is InvalidArgument. What is removed is forgotten:
//     its id is free, so that the same entry, sent once more, is stored once more.
//     Retention must be longer than any queue keeps what it delivers again. A
//     database removes in bounded steps: whoever gives up in between has removed
//     some. What is stored while it runs stays.
//   - A service in memory keeps 5,000,000 entries ([StoredLimit]), a database as
//     many as its disk holds; one more is ResourceExhausted. Nothing is forgotten
//     to make room.
//   - A database that is away is Unavailable; one that fails otherwise is Internal,
//     and its words stay inside (S9).
//
// Requests are checked by their Validate at every door before they are sent on,
// since what lies behind differs in what it does with text it cannot carry: the
// same bad entry is told the same whether it would have gone by a call or a queue.
//
// There is one data set, which is empty; see [Operations] for what can be checked
// of a log that all write to.
//
// # What differs from the origin, and why
//
// The published logger inserts a document per call and answers with a fixed word
// (ms-F20, ms-F21); of its five ways to read and change entries none can be
// called (ms-F24). Its entries have no id that a caller knows, so that nothing
// sent twice can be told from two entries, and nothing lost can be named (ms-M15,
// R2): here the caller may choose it, and writing is idempotent. An entry without
// a name is stored there, which is what becomes of a body that cannot be read
// (ms-D02); here it is refused. A missing entry ends the process (ms-D01); here a
// request is a value, and there is none that is missing. A failure of the
// database is told as the caller's fault (ms-D17). Calls to the database have no
// deadline, its list no end, and its collection no index (ms-D16); here every
// statement ends with its caller, a list comes in pages, and every condition has
// an index. Update is left out, since a log that changes is none, and so is
// dropping all of it: DeleteEntries asks until when (ms-F24, S14). Times are to
// the microsecond and not the millisecond, and updated_at, which nothing updates,
// is gone (ms-F23).
package logging
