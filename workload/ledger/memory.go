package ledger

import (
	"context"
	"iter"
	"sort"
	"sync"
	"time"

	"wirelab"
)

// Memory is the reference service: the oracle of the conformance suite, and the service of servers without a
// database. It is safe for concurrent use.
type Memory struct {
	set   *Set // shared and immutable, so read without the lock
	limit int  // PostedLimit; lower in a test

	mu      sync.RWMutex // guards all below but bell
	posted  []record     // after the set's log, in order; len <= limit
	byID    map[string]int32
	changed map[int]holding // accounts in posted, by index
	bell    Bell
}

// record is a posted transaction, its accounts by index.
type record struct {
	id, kind string
	from, to int
	amount   int64
	at       time.Time
}

// holding is the balance of an account, and the indexes in posted that name it.
type holding struct {
	amount  int64
	updated time.Time
	posted  []int32
}

var _ Service = (*Memory)(nil)

// over returns a reference service over a data set. It is cheap for a set of any size: a load makes one for each
// call that posts.
func over(set *Set) *Memory { return &Memory{set: set, limit: PostedLimit} }

// GetBalance implements [Service].
func (m *Memory) GetBalance(_ context.Context, id AccountID) (Balance, error) {
	if err := id.Validate(); err != nil {
		return Balance{}, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	b, ok := m.balance(id.ID)
	if !ok {
		return Balance{}, UnknownAccount(id.ID)
	}
	return b, nil
}

// GetBalances implements [Service].
func (m *Memory) GetBalances(_ context.Context, ids AccountIDs) (Balances, error) {
	if err := ids.Validate(); err != nil {
		return Balances{}, err
	}
	all := Balances{Verdicts: make([]Verdict, len(ids.IDs))}
	m.mu.RLock() // for all of them: the balances are of one moment
	defer m.mu.RUnlock()
	for i, id := range ids.IDs {
		v := &all.Verdicts[i]
		v.Account = id
		v.Balance, v.Found = m.balance(id)
	}
	return all, nil
}

// balance returns the balance of an account, if it exists. m.mu is held.
func (m *Memory) balance(id string) (Balance, bool) {
	i, ok := m.set.account(id)
	if !ok {
		return Balance{}, false
	}
	b := m.set.balance(i)
	if h, ok := m.changed[i]; ok {
		b.Amount, b.UpdatedAt = h.amount, h.updated
	}
	b.Account = id
	return b, true
}

// PostTransaction implements [Service].
func (m *Memory) PostTransaction(_ context.Context, posting Posting) (Transaction, error) {
	if err := posting.Validate(); err != nil {
		return Transaction{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if stored, ok := m.stored(posting.ID); ok {
		return posting.Again(stored)
	}
	from, ok := m.set.account(posting.From)
	if !ok {
		return Transaction{}, UnknownAccount(posting.From)
	}
	to, ok := m.set.account(posting.To)
	if !ok {
		return Transaction{}, UnknownAccount(posting.To)
	}
	payer, payee := m.holding(from), m.holding(to)
	if err := posting.Check(payer.amount, payee.amount); err != nil {
		return Transaction{}, err
	}
	if len(m.posted) >= m.limit {
		return Transaction{}, wirelab.Errorf(wirelab.ResourceExhausted,
			"%d transactions are posted, which is all that a ledger in memory keeps", m.limit)
	}
	at := Later(time.Now(), m.last())
	payer.amount -= posting.Amount
	payee.amount += posting.Amount
	place := int32(len(m.posted))
	if m.byID == nil {
		m.byID, m.changed = map[string]int32{}, map[int]holding{}
	}
	m.changed[from] = holding{payer.amount, at, append(payer.posted, place)}
	m.changed[to] = holding{payee.amount, at, append(payee.posted, place)}
	m.byID[posting.ID] = place
	m.posted = append(m.posted, record{posting.ID, posting.Type, from, to, posting.Amount, at})
	m.bell.Ring(m.head())
	return posting.Done(at), nil
}

// stored returns the transaction with an id, if it exists. m.mu is held.
func (m *Memory) stored(id string) (Transaction, bool) {
	position, ok := m.position(id)
	if !ok {
		return Transaction{}, false
	}
	return m.read(position-1, "", 1)[0].Transaction, true
}

// position returns the position of the transaction with an id. m.mu is held.
func (m *Memory) position(id string) (int64, bool) {
	if n, ok := m.set.transaction(id); ok {
		return int64(n) + 1, true
	}
	place, ok := m.byID[id]
	return int64(m.set.transactions) + int64(place) + 1, ok
}

// holding returns the holding of the account with an index. m.mu is held.
func (m *Memory) holding(i int) holding {
	if h, ok := m.changed[i]; ok {
		return h
	}
	b := m.set.balance(i)
	return holding{amount: b.Amount, updated: b.UpdatedAt}
}

// last returns the timestamp of the log's last transaction, or the zero time.
// m.mu is held.
func (m *Memory) last() time.Time {
	switch {
	case len(m.posted) > 0:
		return m.posted[len(m.posted)-1].at
	case m.set.transactions > 0:
		return m.set.stamp(m.set.transactions - 1)
	}
	return time.Time{}
}

// head returns the log's last position. m.mu is held.
func (m *Memory) head() int64 { return int64(m.set.transactions + len(m.posted)) }

// GetTransactions implements [Service].
func (m *Memory) GetTransactions(ctx context.Context, page Page) (TransactionList, error) {
	return List(ctx, page, memoryLog{m})
}

// StreamTransactions implements [Service].
func (m *Memory) StreamTransactions(ctx context.Context, feed Feed) iter.Seq2[Event, error] {
	return Stream(ctx, feed, memoryLog{m})
}

// memoryLog is the [Source] of a service in memory.
type memoryLog struct{ *Memory }

// Start implements [Source].
func (l memoryLog) Start(_ context.Context, after string, since time.Time) (int64, error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	var behind int64
	if after != "" {
		position, ok := l.position(after)
		if !ok {
			return 0, UnknownTransaction(after)
		}
		behind = position
	}
	if since.IsZero() {
		return behind, nil
	}
	before := l.set.since(since)
	if before == l.set.transactions {
		before += sort.Search(len(l.posted), func(i int) bool { return !l.posted[i].at.Before(since) })
	}
	return max(behind, int64(before)), nil
}

// Read implements [Source].
func (l memoryLog) Read(_ context.Context, behind int64, account string, limit int) ([]Entry, error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.read(behind, account, limit), nil
}

// read is Read while m.mu is held.
func (m *Memory) read(behind int64, account string, limit int) []Entry {
	if account != "" {
		return m.readOf(behind, account, limit)
	}
	entries := m.set.run(int(behind), limit)
	for i := max(0, int(behind)-m.set.transactions); i < len(m.posted) && len(entries) < limit; i++ {
		entries = append(entries, m.entry(i))
	}
	return entries
}

// readOf is read for one account.
func (m *Memory) readOf(behind int64, account string, limit int) []Entry {
	i, ok := m.set.account(account)
	if !ok {
		return nil
	}
	of := m.set.ofAccount(i, int(behind))
	of = of[:min(limit, len(of))]
	entries := m.set.entries(len(of), func(i int) int { return int(of[i]) })
	posted := m.changed[i].posted
	first := int(behind) - m.set.transactions
	for _, place := range posted[sort.Search(len(posted), func(i int) bool { return int(posted[i]) >= first }):] {
		if len(entries) == limit {
			break
		}
		entries = append(entries, m.entry(int(place)))
	}
	return entries
}

// entry returns a posted transaction. m.mu is held.
func (m *Memory) entry(place int) Entry {
	r := m.posted[place]
	return Entry{Position: int64(m.set.transactions+place) + 1, Transaction: Transaction{
		ID: r.id, From: accountID(r.from), To: accountID(r.to), Amount: r.amount, Type: r.kind, Timestamp: r.at,
	}}
}

// Wait implements [Source].
func (l memoryLog) Wait(ctx context.Context, head int64) (int64, error) {
	if end := int64(l.set.transactions); end > head { // the bell was never rung for the set's log
		return end, nil
	}
	return l.bell.Wait(ctx, head)
}
