// Package logging is the workload of the published comparison of calls and
// queues: a logger that stores entries and finds them again. It knows no wire. Of
// databases it only knows that there may be one behind its [Service].
//
// # The contract
//
// The reference [New] decides everything that this text leaves open.
//
//   - An entry has an id of 1 to 64 characters ([IDLimit]) of A-Z a-z 0-9 . _ ~ -
//     other than "." and ".."; a name of 1 to 128 bytes ([NameLimit]); and data of
//     0 to 524,288 bytes ([DataLimit]). Names and data are UTF-8 without NUL, which
//     PostgreSQL does not store, and are returned byte by byte. Anything else is
//     InvalidArgument and stores nothing.
//   - WriteLog returns once the entry is stored: in a database, once the commit
//     that contains it is on disk (S2). A call that was given up, or failed with
//     another error than InvalidArgument or Conflict, may have stored the entry; the
//     same call again settles it.
//   - An entry is stored once: the same call again (id, name and data) is answered as
//     the first time, and stores nothing. The same id with other content is
//     Conflict. Of several concurrent calls one is first, and the others find the
//     entry stored.
//   - An entry without an id gets one of 26 characters ([NewID]), so that each call
//     stores one entry. A caller that may have to send an entry twice must choose the
//     id itself.
//   - A stored entry has a position: 1 for the first, and a larger one for every later
//     entry. No position is given twice. There may be gaps, but not among the entries
//     of a single caller that has the service for itself. An entry has the time when
//     it was stored, by the logger's clock (by the database's, if it has one), in UTC
//     with microseconds; times never decrease along positions, several may be equal.
//     No reader sees a position while one below it is still to come.
//   - GetEntry of an unknown entry is NotFound.
//   - ListEntries returns the entries that meet all given conditions, by position
//     from the highest. Name is the whole name, byte by byte. Since is inclusive,
//     Until is exclusive, and so is Before, a position. Times have at most
//     microseconds, in the years 1 to 9999; the zero time means no time. Conditions
//     that contradict each other match no entry, and are not an error.
//   - A page is full with Limit entries (0 to 1,000; 0 means 1,000), or with
//     the entry that brings it to 524,288 bytes of names and data ([PageBytes]). Next
//     is then the position of its last entry, to be used as the next page's Before;
//     otherwise it is 0. A full page may also be the last one. Pages that are read one
//     after the other in this way contain, exactly once, each entry that existed when
//     the first page was read and that was not removed.
//   - DeleteEntries removes the entries stored before a time, and returns their
//     number. Without a time it is InvalidArgument. Removed entries are forgotten:
//     the id is free, so the same entry, sent once more, is stored once more.
//     Retention must be longer than any queue keeps messages for redelivery. A
//     database removes in bounded steps: if the caller gives up in between, some
//     entries are removed. Entries that are stored during the call stay.
//   - A service in memory keeps 5,000,000 entries ([StoredLimit]), a database as
//     many as fit on its disk; one more is ResourceExhausted. Nothing is removed
//     to make room.
//   - A database that cannot be reached is Unavailable. One that fails in another way
//     is Internal, and its message is not shown to callers (S9).
//
// Every API checks requests with their Validate before it forwards them, because the
// components behind it treat text that they cannot carry in different ways. So an
// invalid entry gets the same error whether it would have gone by a call or a queue.
//
// There is one data set, which is empty. See [Operations] for what can be checked
// in a log that all callers write to.
//
// # Differences from the origin
//
// The published logger inserts a document per call and answers with a fixed word
// (ms-F20, ms-F21); none of its five operations to read and change entries can be
// called (ms-F24). Its entries have no id that a caller knows. So a repeated entry
// looks like a second one, and a lost entry cannot be named (ms-M15, R2); here the
// caller may choose the id, and writing is idempotent. The published logger stores an
// entry without a name, which is the result of a body that cannot be parsed (ms-D02);
// here such an entry is refused. A missing entry ends its process (ms-D01); here a
// request is a value, so it cannot be missing. It reports a database failure as
// the caller's fault (ms-D17). Its database calls have no deadline, its list has no
// limit, and its collection has no index (ms-D16); here every statement ends with its
// caller, a list comes in pages, and every condition has an index. Update is left
// out, because a log must not change, and so is removing everything: DeleteEntries
// requires a time (ms-F24, S14). Times have microseconds instead of milliseconds,
// and updated_at, which nothing updates, is gone (ms-F23).
package logging
