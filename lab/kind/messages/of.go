package messages

import (
	"wirelab/lab/result"
	"wirelab/lab/result/claim"
)

// Of returns the messages of a trial: empty if it has none.
func Of(t *result.Trial) result.Messages {
	if t.Messages == nil {
		return result.Messages{}
	}
	return *t.Messages
}

// StateOf is how the messages of an arm did: nothing where it has none.
func StateOf(s *claim.ArmState) claim.MessageState {
	if s.Messages == nil {
		return claim.MessageState{}
	}
	return *s.Messages
}
