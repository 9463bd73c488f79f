package network

import "time"

// Notes returns sentences for reports that say which parts of a path are a model, and how it differs from a real one.
// tcp and udp say which of them the path carries.
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
		"packets of a connection keep their order, over UDP too: TCP ends at the relay and would be spared the cost "+
		"of reordering")
	add(s.Bandwidth > 0, "a link for each way, shared by all connections, with a queue of one round trip, at least "+
		"128 KiB: "+
		"beyond it UDP is dropped, and TCP is not sent yet; packets count with their IP and TCP or "+
		"UDP headers")
	add(udp && s.Loss > 0, "lost UDP datagrams are dropped, independently of each other")
	add(tcp && s.Loss > 0, "loss on TCP is a model of the cost of retransmission, since TCP ends at the relay: "+
		"segments of 1,460 bytes are lost independently; one that three later ones follow arrives a round trip late "+
		"(RFC 5681), one with one or two later ones a quarter more (RFC 8985), "+
		"the last of several after two round trips (RFC 8985), one alone after the timeout of a round trip and 200 "+
		"ms, doubled when lost again (RFC 6298 with Linux's minimum); all later segments wait; "+
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
		notes = append(notes, "jitter is spread evenly, which is netem's default, and may change the order of "+
			"packets")
	}
	if s.Loss > 0 {
		notes = append(notes, "packets are lost independently of each other, acknowledgements too")
	}
	return append(notes, "the virtual link does not join segments (no offload), so that loss and rate apply to "+
		"packets of Ethernet's size")
}

// Patience returns how much longer calls may take than without a network, if they are made one after another, each on a
// new connection.
func (s Spec) Patience(calls int) time.Duration {
	// Connecting with TLS and calling takes four trips. A lost packet takes a second at worst, and usually far less.
	each := 8*(s.RTT+s.Jitter) + time.Duration(s.Loss*float64(8*time.Second))
	return time.Duration(max(calls, 1)) * each
}
