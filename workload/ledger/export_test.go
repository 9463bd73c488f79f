package ledger

// Keeping returns a service that keeps at most limit postings, since the limit
// of the contract takes a gigabyte to reach.
func Keeping(limit int) Service {
	m := over(small())
	m.limit = limit
	return m
}

// Holding returns a service in which an account has more than the data set
// gives it: nothing but many thousand postings could.
func Holding(account string, amount int64) Service {
	m := over(small())
	i, _ := m.set.account(account)
	m.changed = map[int]holding{i: {amount: amount}}
	m.byID = map[string]int32{}
	return m
}

// ReadAhead is how many transactions a stream reads at once.
const ReadAhead = readAhead

// After is the schedule of a stream.
var After = after
