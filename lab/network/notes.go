package network

import "time"

// Notes say in sentences what of a path is a model, and in what it falls short
// of a real one, for reports. tcp and udp tell which of them is carried over it.
func (s Spec) Notes(tcp, udp bool) []string {
	if s.Via == Netem {
		return s.kernelNotes()
	}
	var notes []string
	add := func(when bool, text string) {
		if when {
			notes = append(notes, text)
		}
	}
	add(s.Jitter > 0, "each way takes half the round trip, give or take up to half the jitter, drawn evenly for each "+
		"packet; "+
		"packets of a connection keep their order, over UDP too: TCP is ended at the relay and would be spared what "+
		"reordering costs")
	add(s.Bandwidth > 0, "a link for each way, shared by all connections, with a queue of one round trip, at least "+
		"128 KiB: "+
		"what it does not hold is dropped of UDP, and of TCP not sent yet; packets count with their IP and TCP or "+
		"UDP heads")
	add(udp && s.Loss > 0, "lost UDP datagrams are dropped, each by itself")
	add(tcp && s.Loss > 0, "loss on TCP is a model of what sending again costs, since the relay ends TCP: "+
		"of segments of 1,460 bytes, each lost by itself, one that three later ones follow arrives a round trip late "+
		"(RFC 5681), with one or two later ones a quarter more (RFC 8985), "+
		"the last of several after two round trips (RFC 8985), one alone after the timeout of a round trip and 200 "+
		"ms, doubled when lost again (RFC 6298 with Linux's least); all behind it waits; "+
		"acknowledgements are not lost")
	add(tcp && s.RTT > 0, "TCP's handshake and windows are a model too: a connection carries its first byte after a "+
		"round trip, "+
		"may have 10 segments on the way at first (RFC 6928), more as they are acknowledged, 4 MiB at most, "+
		"and begins anew after a pause longer than the timeout"+lossCuts(s.Loss))
	return notes
}

func lossCuts(loss float64) string {
	if loss == 0 {
		return ""
	}
	return "; a loss takes three tenths of the window (RFC 9438)"
}

func (s Spec) kernelNotes() []string {
	var notes []string
	if s.Jitter > 0 {
		notes = append(notes, "jitter is spread evenly, as netem has it by default, and may change the order of "+
			"packets")
	}
	if s.Loss > 0 {
		notes = append(notes, "packets are lost each by itself, acknowledgements too")
	}
	return append(notes, "segments are not joined by the virtual link (no offload), so that loss and rate are those "+
		"of packets of Ethernet's size")
}

// Patience is how much longer than without a network so many calls, one after
// another on connections of their own, may take.
func (s Spec) Patience(calls int) time.Duration {
	// Connecting with TLS and calling takes four trips; what is lost on the way
	// takes a second at worst, most often far less.
	each := 8*(s.RTT+s.Jitter) + time.Duration(s.Loss*float64(8*time.Second))
	return time.Duration(max(calls, 1)) * each
}
