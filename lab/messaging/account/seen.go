package account

// seen holds which messages of a sequence have arrived at a group, in chunks of [chunkSize]. The group's lock guards
// it.
type seen struct {
	chunks []*seenChunk
}

// seenChunk holds that for consecutive messages.
type seenChunk struct {
	arrived [chunkSize]bool
	count   int
}

// allSeen replaces chunks of which every message has arrived, once their sequence has settled them. It is shared and
// read-only.
var allSeen = func() *seenChunk {
	all := &seenChunk{count: chunkSize}
	for i := range all.arrived {
		all.arrived[i] = true
	}
	return all
}()

func (s *seen) has(number uint64) bool {
	of := number / chunkSize
	return of < uint64(len(s.chunks)) && s.chunks[of].arrived[number%chunkSize]
}

// add records the first arrival of a message. full reports whether its chunk is complete.
func (s *seen) add(number uint64) (full bool) {
	of := number / chunkSize
	for uint64(len(s.chunks)) <= of {
		s.chunks = append(s.chunks, &seenChunk{})
	}
	c := s.chunks[of]
	c.arrived[number%chunkSize] = true
	c.count++
	return c.count == chunkSize
}

// full reports whether every message of a chunk has arrived.
func (s *seen) full(of int) bool { return of < len(s.chunks) && s.chunks[of].count == chunkSize }

// settle releases the memory of a full chunk. settled reports whether that was done.
func (s *seen) settle(of int) { s.chunks[of] = allSeen }

func (s *seen) settled(of int) bool { return of < len(s.chunks) && s.chunks[of] == allSeen }
