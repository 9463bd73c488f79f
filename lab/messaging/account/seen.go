package account

// seen is which messages of a lane have arrived at an audience, by chunks as their
// lane keeps them. Its audience's lock guards it.
type seen struct {
	chunks []*seenChunk
}

// seenChunk is that of messages that follow one another.
type seenChunk struct {
	arrived [chunkSize]bool
	count   int
}

// allSeen stands for chunks of which every message has arrived, once their lane has
// settled them. Nobody writes to it.
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

// add notes that a message has arrived, which had not. full is whether its chunk is.
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

// settle lets a full chunk's memory go, and settled reports whether it has gone.
func (s *seen) settle(of int) { s.chunks[of] = allSeen }

func (s *seen) settled(of int) bool { return of < len(s.chunks) && s.chunks[of] == allSeen }
