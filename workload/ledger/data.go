package ledger

import (
	"fmt"
	"iter"
	"math/bits"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"

	"wirelab"
)

// Limits of the size of a data set.
const (
	accountsLeast     = 4 // two for requests and two set aside
	accountsLimit     = 10_000_000
	transactionsLimit = 100_000_000
)

// Account ids are accountStem and a number from firstAccount; transaction ids are transactionStem and a number from
// 1 with leading zeros, so that every id of a log has the same length.
const (
	accountStem       = "0.0."
	firstAccount      = 100_000
	transactionStem   = "tx-"
	transactionDigits = 9
)

// SeedVersion changes whenever the contents of a data set with a given name change: a database that was filled by
// another version holds other data. A test fails if the data change and this does not.
const SeedVersion = 1

// seedEnd is the end of the log of every data set, and logSpan its duration.
var seedEnd = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

const logSpan = 24 * time.Hour

// The data sets of [Data], shared by all services of the process.
var (
	usual = sync.OnceValue(func() *Set { return newSet(10_000, 100_000) })
	small = sync.OnceValue(func() *Set { return newSet(100, 1_000) })
)

// New returns a reference service with the published data set: 10,000 accounts
// and 100,000 transactions.
func New() Service { return over(usual()) }

// Data returns the data sets that have a name, the default first.
func Data() []wirelab.Data[Service] {
	return []wirelab.Data[Service]{dataOf(usual()), dataOf(small())}
}

// Sized returns the data set of any valid size, by its name.
func Sized(name string) (wirelab.Data[Service], error) {
	set, err := SetOf(name)
	if err != nil {
		return wirelab.Data[Service]{}, err
	}
	return dataOf(set), nil
}

func dataOf(set *Set) wirelab.Data[Service] {
	return wirelab.Data[Service]{
		Name:       set.Name(),
		New:        func() Service { return over(set) },
		Operations: operations(set),
	}
}

// SetOf returns the data set with a name such as "10000x100000"; "" is the default. Any other text is
// InvalidArgument.
func SetOf(name string) (*Set, error) {
	for _, known := range []*Set{usual(), small()} {
		if name == known.Name() || name == "" {
			return known, nil
		}
	}
	left, right, _ := strings.Cut(name, "x")
	accounts, err1 := strconv.Atoi(left)
	transactions, err2 := strconv.Atoi(right)
	if err1 != nil || err2 != nil || name != sizeName(accounts, transactions) {
		return nil, wirelab.Errorf(wirelab.InvalidArgument,
			"data set %.40q is not ACCOUNTSxTRANSACTIONS, such as %s", name, usual().Name())
	}
	if accounts < accountsLeast || accounts > accountsLimit || transactions < 0 || transactions > transactionsLimit {
		return nil, wirelab.Errorf(wirelab.InvalidArgument,
			"data set %s: want %d to %d accounts and 0 to %d transactions",
			name, accountsLeast, accountsLimit, transactionsLimit)
	}
	return newSet(accounts, transactions), nil
}

func sizeName(accounts, transactions int) string { return fmt.Sprintf("%dx%d", accounts, transactions) }

// Set is a data set. It is immutable, and takes almost no memory: its contents follow from the number of the
// account or transaction alone. Only the index by account, 8 bytes for each transaction, is stored, once it is
// needed.
type Set struct {
	accounts, transactions int
	index                  func() index
}

func newSet(accounts, transactions int) *Set {
	s := &Set{accounts: accounts, transactions: transactions}
	s.index = sync.OnceValue(s.makeIndex)
	return s
}

// Name returns the set's size as its name.
func (s *Set) Name() string { return sizeName(s.accounts, s.transactions) }

// Seed identifies the contents of a database that holds the set: two databases with the same seed hold the same
// data.
func (s *Set) Seed() string { return fmt.Sprintf("v%d %s", SeedVersion, s.Name()) }

// Size returns the number of accounts and of transactions.
func (s *Set) Size() (accounts, transactions int) { return s.accounts, s.transactions }

// Known returns the ids that requests of [Known] are drawn from: a stem, followed by a number of an inclusive
// range.
func (s *Set) Known() (stem string, first, last int) {
	return accountStem, firstAccount, firstAccount + s.accounts - s.Aside() - 1
}

// Accounts returns every account with its balance, in the order of the numbers in their ids.
func (s *Set) Accounts() iter.Seq[Balance] {
	return func(yield func(Balance) bool) {
		for i := range s.accounts {
			b := s.balance(i)
			b.Account = accountID(i)
			if !yield(b) {
				return
			}
		}
	}
}

// Transactions returns the log from its first transaction.
func (s *Set) Transactions() iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		for first := 0; first < s.transactions; first += readAhead {
			for _, e := range s.run(first, readAhead) {
				if !yield(e) {
					return
				}
			}
		}
	}
}

// Aside returns how many of the accounts, the last ones, are set aside for
// drawn postings.
func (s *Set) Aside() int { return max(2, s.accounts/10) }

// The streams of random numbers from which a set is drawn.
const (
	drawsOfBalance = iota + 1
	drawsOfUpdate
	drawsOfFrom
	drawsOfTo
	drawsOfAmount
	drawsOfType
	drawsOfTime
	drawsOfTie
)

// draw returns the nth random number of a stream: the finaliser of SplitMix64 over a counter. A generator with a
// state would have to be advanced n times.
func draw(stream, n int) uint64 {
	x := (uint64(stream)<<40 + uint64(n)) * 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// below scales a random number to 0 to n-1.
func below(u uint64, n int64) int64 {
	high, _ := bits.Mul64(u, uint64(n))
	return int64(high)
}

const (
	balanceMost  = 100_000_000_000 // of a data set
	balanceAside = 10_000_000_000  // minimum of an account set aside: a load never empties it
	amountMost   = 10_000_000_000  // of a transaction of a data set
	updatedSpan  = 30 * 24 * time.Hour
)

// balance returns the balance of the account with an index, without its id.
func (s *Set) balance(i int) Balance {
	least := int64(0)
	if i >= s.accounts-s.Aside() {
		least = balanceAside
	}
	ago := below(draw(drawsOfUpdate, i), updatedSpan.Microseconds())
	return Balance{
		Amount:    least + below(draw(drawsOfBalance, i), balanceMost-least+1),
		UpdatedAt: seedEnd.Add(-time.Duration(ago) * time.Microsecond),
	}
}

// sides returns the two accounts of the nth transaction, from 0, by index.
func (s *Set) sides(n int) (from, to int) {
	from = int(below(draw(drawsOfFrom, n), int64(s.accounts)))
	step := 1 + int(below(draw(drawsOfTo, n), int64(s.accounts-1)))
	return from, (from + step) % s.accounts
}

// stamp returns the time of the nth transaction, from 0. One in sixteen has the timestamp of the one before it.
func (s *Set) stamp(n int) time.Time {
	for n > 0 && draw(drawsOfTie, n)%16 == 0 {
		n--
	}
	slot := logSpan.Microseconds() / int64(s.transactions)
	at := logSpan.Microseconds() * int64(n) / int64(s.transactions)
	at += below(draw(drawsOfTime, n), slot)
	return seedEnd.Add(time.Duration(at)*time.Microsecond - logSpan)
}

// The types of a data set's transactions.
const (
	Transfer       = "transfer"
	VestingRelease = "vesting_release"
	ContractCall   = "contract_call"
)

// kind returns the type of the nth transaction.
func kind(n int) string {
	switch u := below(draw(drawsOfType, n), 10); {
	case u < 6:
		return Transfer
	case u < 9:
		return VestingRelease
	}
	return ContractCall
}

func amount(n int) int64 { return 1 + below(draw(drawsOfAmount, n), amountMost) }

// run returns up to most transactions from the nth on.
func (s *Set) run(n, most int) []Entry {
	return s.entries(max(0, min(most, s.transactions-n)), func(i int) int { return n + i })
}

// entries returns count transactions; number maps i to the index, from 0, of the ith. Their ids share one string.
func (s *Set) entries(count int, number func(i int) int) []Entry {
	all := make([]Entry, count)
	ends := make([][3]int, count)
	text := make([]byte, 0, count*(len(transactionStem)+transactionDigits+2*(len(accountStem)+8)))
	for i := range all {
		n := number(i)
		from, to := s.sides(n)
		text = appendTransactionID(text, n)
		ends[i][0] = len(text)
		text = appendAccountID(text, from)
		ends[i][1] = len(text)
		text = appendAccountID(text, to)
		ends[i][2] = len(text)
		all[i].Position = int64(n) + 1
		t := &all[i].Transaction
		t.Amount, t.Type, t.Timestamp = amount(n), kind(n), s.stamp(n)
	}
	ids, begin := string(text), 0
	for i, end := range ends {
		t := &all[i].Transaction
		t.ID, t.From, t.To = ids[begin:end[0]], ids[end[0]:end[1]], ids[end[1]:end[2]]
		begin = end[2]
	}
	return all
}

// since returns how many transactions were posted before t.
func (s *Set) since(t time.Time) int {
	return sort.Search(s.transactions, func(n int) bool { return !s.stamp(n).Before(t) })
}

func appendAccountID(text []byte, i int) []byte {
	return strconv.AppendInt(append(text, accountStem...), firstAccount+int64(i), 10)
}

func accountID(i int) string { return string(appendAccountID(nil, i)) }

func appendTransactionID(text []byte, n int) []byte {
	var room [20]byte
	digits := strconv.AppendInt(room[:0], int64(n)+1, 10)
	text = append(text, transactionStem...)
	for range transactionDigits - len(digits) {
		text = append(text, '0')
	}
	return append(text, digits...)
}

func transactionID(n int) string { return string(appendTransactionID(nil, n)) }

// account returns the index of the account with an id.
func (s *Set) account(id string) (int, bool) {
	number, ok := strings.CutPrefix(id, accountStem)
	if !ok || number == "" || number[0] == '0' {
		return 0, false
	}
	n, ok := digits(number)
	return n - firstAccount, ok && n >= firstAccount && n < firstAccount+s.accounts
}

// transaction returns the index of the transaction with an id.
func (s *Set) transaction(id string) (int, bool) {
	number, ok := strings.CutPrefix(id, transactionStem)
	if !ok || len(number) != transactionDigits {
		return 0, false
	}
	n, ok := digits(number)
	return n - 1, ok && n >= 1 && n <= s.transactions
}

// digits parses a number of at most nine digits, without a sign.
func digits(text string) (n int, ok bool) {
	if len(text) > transactionDigits {
		return 0, false
	}
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return 0, false
		}
		n = n*10 + int(text[i]-'0')
	}
	return n, true
}

// index lists, for each account, the transactions in which it is on either
// side: of[first[i]:first[i+1]] are those of account i, in order.
type index struct {
	first []uint32
	of    []uint32
}

// makeIndex builds the index in two passes over the log: it counts, then fills.
func (s *Set) makeIndex() index {
	x := index{first: make([]uint32, s.accounts+2), of: make([]uint32, 2*s.transactions)}
	for n := range s.transactions {
		from, to := s.sides(n)
		x.first[from+2]++
		x.first[to+2]++
	}
	for i := range s.accounts {
		x.first[i+2] += x.first[i+1]
	}
	for n := range s.transactions { // first[i+1] is the position of the next transaction of account i
		from, to := s.sides(n)
		for _, i := range [2]int{from, to} {
			x.of[x.first[i+1]] = uint32(n)
			x.first[i+1]++
		}
	}
	return x
}

// ofAccount returns the transactions of an account from the nth of the log on.
func (s *Set) ofAccount(account, n int) []uint32 {
	x := s.index()
	all := x.of[x.first[account]:x.first[account+1]]
	return all[sort.Search(len(all), func(i int) bool { return int(all[i]) >= n }):]
}
