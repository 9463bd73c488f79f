package ledger

import (
	"math/rand/v2"
	"strconv"

	"wirelab"
)

// Known is the way to draw requests for existing accounts only.
const Known = "known"

const (
	batchDrawn  = 20  // most ids of a drawn batch
	batchKnown  = 10  // ids of a batch of known accounts
	pageDrawn   = 100 // most transactions of a drawn page
	streamDrawn = 50  // most events of a drawn stream
	amountDrawn = 1_000
)

// Operations returns the five calls and the ways to draw their requests, for the data set of [New].
func Operations() []wirelab.Operation[Service] { return operations(usual()) }

// operations returns the calls for a data set. Accounts that are set aside, and the log after that of the set, are
// in no reply except those of postings. Unknown ids are ids that are never posted.
func operations(s *Set) []wirelab.Operation[Service] {
	asked := s.accounts - s.Aside()
	known := func(r *rand.Rand) string { return accountID(r.IntN(asked)) }
	// One in four is unknown, so that every wire carries NotFound too.
	drawn := func(r *rand.Rand) string {
		if r.IntN(4) == 0 {
			return accountStem + strconv.Itoa(r.IntN(firstAccount))
		}
		return known(r)
	}
	batch := func(r *rand.Rand, n int, id func(*rand.Rand) string) AccountIDs {
		ids := AccountIDs{IDs: make([]string, n)}
		for i := range ids.IDs {
			if i > 0 && r.IntN(8) == 0 {
				ids.IDs[i] = ids.IDs[r.IntN(i)] // a repeated id
				continue
			}
			ids.IDs[i] = id(r)
		}
		return ids
	}
	return []wirelab.Operation[Service]{
		wirelab.Unary("GetBalance", func(r *rand.Rand) AccountID { return AccountID{ID: drawn(r)} }, Service.GetBalance,
			wirelab.Drawing[AccountID]{
				Name: Known,
				Draw: func(r *rand.Rand) AccountID { return AccountID{ID: known(r)} },
			}),
		wirelab.Unary("GetBalances", func(r *rand.Rand) AccountIDs { return batch(r, 1+r.IntN(batchDrawn), drawn) },
			Service.GetBalances,
			wirelab.Drawing[AccountIDs]{
				Name: Known,
				Draw: func(r *rand.Rand) AccountIDs { return batch(r, batchKnown, known) },
			}),
		wirelab.Unary("GetTransactions", func(r *rand.Rand) Page {
			w := s.window(r, pageDrawn, known)
			return Page{After: w.After, Account: w.Account, Since: w.Since, Limit: int32(w.Limit)}
		}, Service.GetTransactions),
		wirelab.Unary("PostTransaction", s.posting, Service.PostTransaction).Once(),
		wirelab.Feeding("StreamTransactions", func(r *rand.Rand) Feed {
			return s.window(r, streamDrawn, known)
		}, Service.StreamTransactions, func(rate int64) Feed {
			return Feed{Rate: rate, Limit: int64(s.transactions)} // excludes what others post
		}),
	}
}

// window draws a part of the set's log of 1 to most transactions: from the beginning, after one, or since a time;
// all of them or those of an account. One of an account may have fewer, since other callers do not post there; one
// of all ends inside the set's log.
func (s *Set) window(r *rand.Rand, most int, account func(*rand.Rand) string) Feed {
	w := Feed{Limit: int64(1 + r.IntN(most))}
	if s.transactions == 0 || r.IntN(3) == 0 {
		w.Account = account(r)
	}
	if s.transactions == 0 {
		return w
	}
	from := r.IntN(s.transactions)
	switch r.IntN(3) {
	case 0:
		if from > 0 {
			w.After = transactionID(from - 1)
		}
	case 1:
		w.Since = s.stamp(from)
		from = s.since(w.Since)
	default:
		from = 0
	}
	if w.Account == "" {
		w.Limit = min(w.Limit, int64(s.transactions-from))
	}
	return w
}

// posting draws a posting between two of the accounts that are set aside. It is so small that a load empties none
// of them, and has an id that no other call has: with 1.8e19 of them a collision is not to be expected.
func (s *Set) posting(r *rand.Rand) Posting {
	first, n := s.accounts-s.Aside(), s.Aside()
	from := r.IntN(n)
	to := (from + 1 + r.IntN(n-1)) % n
	return Posting{
		ID:     "post-" + strconv.FormatUint(r.Uint64(), 36),
		From:   accountID(first + from),
		To:     accountID(first + to),
		Amount: 1 + r.Int64N(amountDrawn),
		Type:   []string{Transfer, VestingRelease, ContractCall}[r.IntN(3)],
	}
}
