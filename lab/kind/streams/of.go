package streams

import (
	"wirelab/lab/result"
	"wirelab/lab/result/claim"
)

// Of returns the streams of a trial: empty if it has none.
func Of(t *result.Trial) result.Streams {
	if t.Streams == nil {
		return result.Streams{}
	}
	return *t.Streams
}

// StateOf is how the streams of an arm did: nothing where it has none.
func StateOf(s *claim.ArmState) claim.StreamState {
	if s.Streams == nil {
		return claim.StreamState{}
	}
	return *s.Streams
}
