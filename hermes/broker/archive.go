package broker

import "context"

// Archive is a broker's state as a whole: read at one point of its log, and brought back
// topic by topic.
type Archive interface {
	// Cut begins to read topics, or all where none is named, as they are once one entry of the log is
	// applied; what was acknowledged before the call is in it. NotFound: one is not there. Conflict:
	// one is being restored. ResourceExhausted: this node has too many cuts open.
	Cut(ctx context.Context, topics []string) (Cut, error)
	// Restore does one step of bringing a topic back. Each may be done again, with the same outcome, so a caller
	// without an answer repeats it.
	Restore(ctx context.Context, step Restore) (Restored, error)
}

// Point is where in the log a cut is.
type Point struct {
	Index uint64 // of the last entry that is in it
	Time  int64  // Unix nanoseconds, when it was made
}

// Cut is what Archive.Cut reads. It is for one goroutine; Close for any.
type Cut interface {
	At() Point
	// Next is the next part: a topic, then its groups, then its messages, then the next topic; io.EOF after the
	// last. Runs have at most limit bytes if there is more than one message, and hermes.RunMessages messages each;
	// they stay valid. They are all of the topic between its First and its Next, but those which retention took in
	// the meantime: these are missing before others. Unavailable: the topic was deleted in the meantime, or the
	// node is stopping: begin anew.
	Next(ctx context.Context, limit int) (Part, error)
	Close()
}

// Part is one thing of a cut: exactly one field is set.
type Part struct {
	Topic *Topic
	Group *Group // without what only a leader knows
	Runs  []Batch
}

// Step is one step of a restore.
type Step uint8

// The steps, in the order in which they are taken. StepRuns and StepGroup repeat.
const (
	StepLook  Step = iota // changes nothing
	StepBegin             // Topic: Name, First, Created, retention
	StepRuns              // Topic: Name
	StepGroup             // Topic: Name, Next; all runs were before
	StepEnd               // Topic: Name, Next
)

// Restore is a step. Between StepBegin and StepEnd a topic refuses publishes, groups and subscribers with
// Conflict; deleting it gives it up. Topic hermes.dlq alone stays open, and a dead letter that comes in the
// meantime ends its restore.
type Restore struct {
	ID    uint64 // of the restore, not 0: one with the same id continues with it
	Step  Step
	Topic Topic
	// Runs follow one another; those that the topic has are passed over. A gap before one says that the missing
	// messages were trimmed. Together they have at most hermes.RunLimit bytes, and there are at most
	// hermes.RunMessages. Their times are at most the cluster's.
	Runs  []Batch
	Group Group // Name, AckTimeout, MaxAttempts, Floor, Acked, Dead
}

// Restored is a topic after a step.
type Restored struct {
	State RestoreState
	Next  uint64 // the offset of the message that is wanted next
}

// RestoreState is how a topic stands to a restore.
type RestoreState uint8

// The states.
const (
	RestoreAbsent RestoreState = iota // it can be begun
	RestoreBegun                      // by this restore, and not ended
	RestoreDone                       // by this restore
	RestoreOther                      // it is there, and not from this restore
)
