package account

import "testing"

// Settled chunks use no memory, but their messages are still known: a message that arrives again is a duplicate, or
// is excused if it was sent before a failure ended.
func TestSettledChunksAreRemembered(t *testing.T) {
	t.Parallel()
	l, err := New(Options{Run: 7, Size: StampSize, Sequences: []int{0}, Topics: 1, Audiences: []int{0, 0}})
	if err != nil {
		t.Fatal(err)
	}
	l.Window(0, 1<<40)
	var kept [][]byte // the first of each chunk
	send := func(n int, acknowledged func(number uint64) bool) {
		for range n {
			number, body := l.Write(0, 1, true)
			if number%chunkSize == 0 {
				kept = append(kept, body)
			}
			l.ConsumerGroup(0).Arrived(body, int64(number))
			l.Answered(0, number, acknowledged(number))
			l.ConsumerGroup(1).Arrived(body, int64(number))
		}
	}
	all := func(uint64) bool { return true }
	send(chunkSize, all)                                                                 // 0: before the failure
	send(chunkSize/2, all)                                                               // 1: half before,
	l.Disturb(During)                                                                    //
	send(chunkSize/2, all)                                                               //    half during
	send(chunkSize, all)                                                                 // 2: during
	send(chunkSize, func(number uint64) bool { return number%chunkSize != chunkSize/2 }) // 3: one is unsure
	l.Disturb(After)
	send(chunkSize, all)    // 4: after
	send(chunkSize-10, all) // 5: not full
	for of, want := range []bool{true, false, true, false, true, false} {
		c := l.sequences[0].chunk(of)
		gone := c == settled[Before] || c == settled[During] || c == settled[After]
		if gone != want || l.ConsumerGroup(0).seen[0].settled(of) != want || l.ConsumerGroup(1).seen[0].settled(of) != want {
			t.Errorf("chunk %d is settled: %v, want %v", of, gone, want)
		}
	}
	for _, body := range kept {
		l.ConsumerGroup(0).Arrived(body, 1)
	}
	sent := uint64(6*chunkSize - 10)
	want := Account{
		Sent: sent, Acknowledged: sent - 1, Unsure: 1, Expected: 2 * (sent - 1), Delivered: 2 * (sent - 1), Kept: 2,
		Redelivered: 4, Duplicated: 2, // the first four chunks were sent before the failure ended
	}
	if got := l.Account(); got != want {
		t.Errorf("account is\n%+v, want\n%+v", got, want)
	}
	if !l.Complete() {
		t.Error("messages are missing")
	}
}
