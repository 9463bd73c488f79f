// Package ledger is the workload of a ledger: read balances, one or many, page
// through the log of transactions, stream it, and move money. It contains the
// domain only and knows neither transport nor database: folder bind carries it
// over each wire, folder database keeps it in each database.
//
// # The contract
//
// Every server answers as [Memory] does, on every wire and from every database.
//
//   - The id of an account or a transaction has 1 to 64 ([IDLimit]) characters
//     of A-Z a-z 0-9 . _ ~ - and is neither "." nor "..", because it is also a path
//     element. Any other id, in any request, is InvalidArgument.
//   - Amounts are whole tinybars. A balance is 0 to 2^53-1 ([AmountLimit]),
//     which every encoding carries exactly; a posting moves 1 to as many.
//   - Times are UTC to the microsecond, in the years 1 to 9999; the zero time
//     means none. A finer one in a request is InvalidArgument. Text that cannot
//     be read as a time, a rate or a limit never means "none" (grb-D08).
//   - GetBalance of an unknown account is NotFound.
//   - GetBalances takes 1 to 1,000 ids ([BatchLimit]) and returns a verdict for
//     each, in their order, repeats kept; an unknown account is a verdict
//     without a balance, and no error. All balances are of the same moment.
//   - The log holds the transactions by their position, from 1 without a gap:
//     the data set's, then those posted, in the order in which they took effect.
//     Timestamps never decrease along it; several may be equal. Nothing in it
//     changes, and no reader sees a position before the one below it.
//   - GetTransactions returns one page of the log. It begins after the
//     transaction After, which must exist, else NotFound; and with the first
//     whose timestamp is Since or later. Account keeps those which have the
//     account on either side; an unknown one keeps none, without an error.
//     Limit is at most 1,000 ([PageLimit]); 0 means 1,000. Next is the id of
//     the page's last transaction if the page is full, so that there may be
//     more; else it is empty. A full page may be the last one.
//   - PostTransaction moves the money and adds to the log in one step, all or
//     nothing: the sum of all balances never changes, and no balance is ever
//     below 0 or above the limit. A contradiction is Conflict: too little money,
//     or a receiver who would have too much. An unknown account is NotFound.
//     The timestamp is the server's clock, or the last transaction's if the
//     clock is behind it; both accounts get it as UpdatedAt.
//   - A posting takes effect once: the same again (ID, accounts, amount and type)
//     returns what was stored the first time, with its first timestamp,
//     whatever the balances are by now. The same ID with anything else is
//     Conflict, also if the ID is in the data set. A posting that failed leaves
//     no trace, and its ID is free.
//   - A service in memory keeps 5,000,000 postings ([PostedLimit]), a database
//     as many as its disk holds; one more is ResourceExhausted. A ledger must not
//     forget, so nothing is removed to make room.
//   - StreamTransactions sends what GetTransactions would list, transaction by
//     transaction, each with its sequence from 1. It ends after Limit events,
//     or at the end of the log; a stream that follows waits there for new
//     postings, and ends with Limit or with its caller.
//   - A stream with a rate keeps to a schedule: event k is due at t0+(k-1)/Rate,
//     t0 being when the first event is available. The schedule is absolute: a
//     late event is sent at once, nothing is left out, and the rate over any
//     longer time is the requested one (R14, grb-M02). A follower that had to
//     wait continues from the moment at which the next transaction was there,
//     since nothing is due before it exists. Without a rate an event is due when
//     it is sent.
//   - A slow reader holds the stream back: nothing is dropped, and a stream reads
//     ahead of its reader by at most two pages of 256. It holds a connection of a
//     database only while it reads a page (grb-M17).
//   - A stream that ends because its context did ends with Canceled or
//     DeadlineExceeded. Nothing it started outlives it.
//
// Requests are checked where they are sent as well as where they arrive, since
// wires differ in their treatment of numbers and text that they cannot carry.
//
// # Data sets
//
// A data set's name is its size, "ACCOUNTSxTRANSACTIONS". The accounts are
// 0.0.100000 and up; balances are drawn from 0 to 10^11 and are not the sum of
// the log. The log spans the 24 hours before a fixed instant; three in five of
// its transactions are a transfer, three in ten a vesting_release, one in ten a
// contract_call; amounts are 1 to 10^10; both accounts exist (grb-D07). The
// last tenth of the accounts, at least two, is set aside: drawn postings move
// money among them alone, and no other drawn request asks for them nor for the
// log after that of the data set, so that no reply depends on other callers.
//
// # Differences from the origin, and why
//
// The published service is read-only and has no invariant to keep (grb-D11).
// Its batches lose the order and unknown ids (grb-F02, grb-D17). Its stream is
// a scan that ends, without an id to resume after, and holds a connection for its
// whole life (grb-D10, grb-M17). Its ticker leaves out the events it is late for,
// while the result says that none was dropped (grb-M02); an event does not say
// when it was sent (grb-M01); and a rate above 10^9 stops the server (grb-D01).
// A time that cannot be read, or is missing, means the beginning, contrary to its
// own schema (grb-D08). Times have no zone (grb-D13). Every failure is unknown or
// not found (grb-D09). Its seed names accounts that do not exist, and differs
// each time (grb-D07).
package ledger
