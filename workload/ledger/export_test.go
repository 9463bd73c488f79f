package ledger

// Keeping returns a service that keeps at most limit postings, since the limit
// of the contract takes a gigabyte to reach.
func Keeping(limit int) Service {
	m := over(small())
	m.limit = limit
	return m
}

// ReadAhead is how many transactions a stream reads at once.
const ReadAhead = readAhead

// After is the schedule of a stream.
var After = after
