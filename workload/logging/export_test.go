package logging

// Keeping returns a service that keeps at most limit entries, since the limit of
// the contract takes gigabytes to reach.
func Keeping(limit int) Service { return &Memory{limit: limit} }

// MakeID is NewID at a time.
var MakeID = makeID

// Names is how many names a service in memory has lists for.
func Names(s Service) int {
	m, ok := s.(*Memory)
	if !ok {
		return -1
	}
	return len(m.byName)
}
