// Package ledger is the workload of a ledger: read one or several balances, page
// through the log of transactions, stream the log, and move money. It contains the
// domain only and knows neither transport nor database: the folder bind carries it over
// each transport, and the folder database stores it in each database.
//
// # The contract
//
// Every server answers as [Memory] does, on every wire and from every database.
//
//   - The id of an account or a transaction has 1 to 64 ([IDLimit]) characters
//     of A-Z a-z 0-9 . _ ~ - and is neither "." nor "..", because it is also a path
//     element. Any other id, in any request, is InvalidArgument.
//   - Amounts are whole tinybars. A balance is 0 to 2^53-1 ([AmountLimit]),
//     which every encoding carries exactly; a posting moves 1 to 2^53-1.
//   - Times are UTC with at most microseconds, in the years 1 to 9999; the zero time
//     means no time. A finer time in a request is InvalidArgument. A time, a rate or
//     a limit that cannot be parsed never means "none" (grb-D08).
//   - GetBalance of an unknown account is NotFound.
//   - GetBalances takes 1 to 1,000 ids ([BatchLimit]) and returns a verdict for
//     each, in their order, including repeated ids. An unknown account gives a verdict
//     without a balance, not an error. All balances are of the same moment.
//   - The log holds the transactions by their position, from 1 without a gap: first
//     the data set's, then the posted ones, in the order in which they took effect.
//     Timestamps never decrease along the log; several may be equal. Nothing in the
//     log changes, and no reader sees a position before the one below it.
//   - GetTransactions returns one page of the log. It begins after the
//     transaction After, which must exist, otherwise NotFound, and with the first
//     transaction whose timestamp is Since or later. Account keeps only transactions
//     with this account on either side; an unknown account keeps none and is not an
//     error. Limit is at most 1,000 ([PageLimit]), and 0 means 1,000. Next is the
//     id of the page's last transaction if the page is full, because there may be
//     more; otherwise it is empty. A full page may also be the last one.
//   - PostTransaction moves the money and appends to the log in one step, all or
//     nothing: the sum of all balances never changes, and no balance is ever
//     below 0 or above the limit. A posting that would violate this is Conflict: the
//     sender has too little money, or the receiver would have too much. An unknown
//     account is NotFound. The timestamp is the server's clock, or the last
//     transaction's timestamp if the clock is behind it; both accounts get it as
//     UpdatedAt.
//   - A posting takes effect once: the same posting again (ID, accounts, amount and
//     type) returns what was stored the first time, with the first timestamp,
//     whatever the balances are by now. The same ID with anything else is Conflict,
//     also if the ID belongs to the data set. A posting that failed leaves
//     no trace, and its ID is free.
//   - A service in memory keeps 5,000,000 postings ([PostedLimit]), a database
//     as many as fit on its disk; one more is ResourceExhausted. A ledger must not
//     forget transactions, so none are removed to make room.
//   - StreamTransactions sends what GetTransactions would list, transaction by
//     transaction, each with its sequence from 1. It ends after Limit events,
//     or at the end of the log. With Follow, a stream waits at the end of the log for
//     new transactions, and ends with Limit or with its caller.
//   - A stream with a rate keeps to a schedule: event k is due at t0+(k-1)/Rate,
//     where t0 is the time at which the first event is available. The schedule is
//     absolute: a late event is sent at once, no event is left out, and the rate over
//     any longer time is the requested one (R14, grb-M02). A follower that had to wait
//     continues from the time at which the next transaction was available, because
//     nothing is due before it exists. Without a rate, an event is due when it is sent.
//   - A slow reader holds the stream back: nothing is dropped, and a
//     stream reads ahead of its reader by at most two pages of 256. It holds a
//     database connection only while it reads a page (grb-M17).
//   - A stream whose context ends, ends with Canceled or DeadlineExceeded. Nothing
//     that it started continues after it.
//
// Requests are checked both where they are sent and where they arrive, because wires
// treat numbers and text that they cannot carry in different ways.
//
// # Data sets
//
// A data set's name is its size, "ACCOUNTSxTRANSACTIONS". The accounts are
// 0.0.100000 and following; balances are drawn from 0 to 10^11 and are not the sum of
// the log. The log covers the 24 hours before a fixed instant. Three in five of
// its transactions are a transfer, three in ten a vesting_release, one in ten a
// contract_call; amounts are 1 to 10^10; both accounts exist (grb-D07). The
// last tenth of the accounts, at least two, is set aside: drawn postings move
// money only among them, and no other drawn request asks for them or for transactions
// after the data set's log. So no reply depends on other callers.
//
// # Differences from the origin
//
// The published service is read-only and has no invariant to keep (grb-D11).
// Its batches lose the order and the unknown ids (grb-F02, grb-D17). Its stream is
// a scan that ends, without an id to resume after, and it holds a connection all
// the time (grb-D10, grb-M17). Its ticker leaves out late events
// although the result says that none was dropped (grb-M02), an event does not say
// when it was sent (grb-M01), and a rate above 10^9 stops the server (grb-D01).
// A time that cannot be parsed, or is absent, means the beginning, contrary to its own
// schema (grb-D08); times have no zone (grb-D13); every failure is unknown or
// not found (grb-D09). Its seed names accounts that do not exist and differs
// each time (grb-D07).
package ledger
