package relay

import (
	"math/rand/v2"
	"time"

	"wirelab/lab/network"
)

// The constants of the TCP model, with their sources. A relay ends TCP on both of its sides, so that the windows and
// timers of the kernels see a loopback without delay or loss. This file computes what they would do on the path.
const (
	// segment is the data of a packet: Ethernet's 1,500 bytes minus the headers.
	segment = 1460
	// firstWindow is what may be sent before anything is acknowledged: ten segments (RFC 6928). It applies again after
	// a pause longer than the timeout (RFC 5681, 4.1).
	firstWindow = 10 * segment
	// leastTimeout is Linux's minimum for the part of the timeout beyond the round trip. RFC 6298 has a minimum of one
	// second for the whole timeout.
	leastTimeout = 200 * time.Millisecond
	// firstTimeout is the timeout of a connection's first packets (RFC 6298, 2.1).
	firstTimeout = time.Second
	// cut is the share of the window that is left after a loss: CUBIC's (RFC 9438, 4.6).
	cut = 0.7
	// repeatsMax limits how often one segment is lost in a row.
	repeatsMax = 6
	// reports is after how many later segments a missing one is considered lost at once (RFC 5681, 3.2). After fewer,
	// the sender waits a quarter of a round trip in case the order was changed (RFC 8985, 6.2).
	reports = 3
)

// sender is the state that one end of a TCP connection would have, which determines when it would send. It is guarded
// by its flow's mutex.
type sender struct {
	way       *way
	rtt, rto  int64 // ns
	opens     int64 // when the handshake is over
	window    float64
	threshold float64    // above it the window grows slowly
	flight    int        // bytes that were sent and not acknowledged
	acks      queue[ack] // for delivered data, in order
	sent      int64      // when a segment was sent last
	calm      int64      // until then no further loss cuts the window
	open      []lost
}

// ack is an acknowledgement on its way.
type ack struct {
	at    int64
	bytes int
}

// lost is a lost segment that the sender does not know to be lost yet.
type lost struct {
	number uint64 // of its entry
	alone  bool   // no other segment was on its way
	after  int    // segments that were sent after it
	again  int64  // additional time because retransmissions were lost too
}

func newSender(w *way, opens int64) sender {
	spread := 4 * w.spec.Jitter / 3 // four mean deviations of two uniform delays of Jitter each way
	return sender{
		way: w, rtt: int64(w.spec.RTT), rto: int64(w.spec.RTT + max(leastTimeout, spread)), opens: opens,
		window: firstWindow, threshold: flowMax,
	}
}

// handshake draws how long it takes to open a connection: a round trip, and the timeouts of its lost packets.
func handshake(spec network.Spec, r *rand.Rand) time.Duration {
	d, timeout := spec.RTT, firstTimeout
	for range repeatsMax {
		kept := (1 - spec.Loss) * (1 - spec.Loss) // neither packet is lost
		if spec.Loss == 0 || r.Float64() < kept {
			break
		}
		d += timeout
		timeout *= 2
	}
	return d
}

// room returns how many of the waiting bytes may be sent now. If none may, it returns when to ask again; 0: after a
// delivery.
func (s *sender) room(now int64, waiting int) (bytes int, at int64) {
	if now < s.opens {
		return 0, s.opens
	}
	if s.rtt == 0 {
		return waiting, 0 // acknowledged before the next one is sent
	}
	s.acknowledge(now)
	if s.flight == 0 && s.sent > 0 && now-s.sent > s.rto {
		s.window = min(s.window, firstWindow)
	}
	free := int(s.window) - s.flight
	if free >= min(waiting, segment) {
		return min(free, waiting), 0
	}
	if s.acks.len() > 0 {
		at = s.acks.at(0).at
	}
	return 0, at
}

// acknowledge processes the acknowledgements until now. As in Linux, the window grows only while it limits the sender.
func (s *sender) acknowledge(now int64) {
	taken := 0
	for taken < s.acks.len() {
		a := s.acks.at(taken)
		if a.at > now {
			break
		}
		taken++
		held := 2*float64(s.flight) >= s.window
		s.flight -= a.bytes
		switch {
		case !held:
		case s.window < s.threshold:
			s.window = min(s.window+float64(a.bytes), s.threshold)
		default:
			s.window += segment * float64(a.bytes) / s.window
		}
	}
	s.window = min(s.window, flowMax)
	s.acks.drop(taken)
}

// delivered records that bytes have arrived. timedOut says that the first of them had to wait for the timeout, after
// which a sender starts again with one segment.
func (s *sender) delivered(now int64, bytes int, timedOut bool) {
	if s.rtt == 0 {
		return
	}
	s.acks.push(ack{now + s.rtt/2, bytes})
	if timedOut {
		s.threshold = max(float64(s.flight)/2, 2*segment)
		s.window = segment
	}
}

// send returns when a segment arrives that leaves at a time and takes that long; number is that of its entry. If it is
// lost, that is the time for the case that nothing is sent after it: a probe repeats the last of several segments after
// two round trips (RFC 8985, 7.2), and the timeout a segment that is alone.
func (s *sender) send(leaves, takes int64, bytes int, number uint64, r *rand.Rand) (due int64, again bool) {
	alone := s.flight == 0
	if s.rtt > 0 {
		s.flight += bytes
	}
	s.sent = leaves
	due = leaves + takes
	if !s.way.lost(r) {
		return due, false
	}
	wait, more, timeout := s.rto, int64(0), s.rto
	if !alone {
		wait = min(2*s.rtt, s.rto)
	}
	for i := 1; i < repeatsMax && s.way.lost(r); i++ {
		more += timeout
		timeout *= 2
	}
	s.open = append(s.open, lost{number: number, alone: alone, again: more})
	if leaves >= s.calm {
		s.calm = leaves + s.rtt
		s.threshold = max(cut*s.window, 2*segment)
		s.window = s.threshold
	}
	return due + wait + more, true
}

// reported handles a segment that did arrive, or will. The other end then reports the missing segments before it, which
// are sent again earlier. It calls sooner with each such entry and its new arrival time.
func (s *sender) reported(leaves, takes int64, sooner func(number uint64, due int64)) {
	kept := s.open[:0]
	for _, l := range s.open {
		l.after++
		due := leaves + s.rtt + takes + l.again
		if l.after < reports {
			due += s.rtt / 4
			kept = append(kept, l)
		}
		if l.after == 1 || l.after == reports {
			sooner(l.number, due)
		}
	}
	s.open = kept
}

// arrived removes a lost segment that has arrived, and reports whether a timeout had caused its retransmission.
func (s *sender) arrived(number uint64) (timedOut bool) {
	for i, l := range s.open {
		if l.number == number {
			s.open = append(s.open[:i], s.open[i+1:]...)
			return l.alone && l.after == 0
		}
	}
	return false
}
