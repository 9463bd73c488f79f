package main

// feedFaults touch one event in ten thousand of a feed. A load would count
// them; a wire must not have them (grb-M02, docs/origins.md R2).
func feedFaults() []Fault {
	const (
		file = "workload/ledger/bind/grpc_gen.go"
		send = "		if err := call.Send(eventToProto(item)); err != nil {"
		one  = "item.Sequence%10_000 == 5_000"
	)
	return []Fault{
		{
			"event-lost", file, send,
			"		if " + one + " {\n			continue\n		}\n" + send,
			"ledger/grpc", "events 5000 to 5000 of the feed are missing",
		},
		{
			"event-doubled", file, send,
			"		if " + one + " {\n			_ = call.Send(eventToProto(item))\n		}\n" + send,
			"ledger/grpc", "event 5000 of the feed comes twice",
		},
		{
			"event-reordered", file,
			"	for item, err := range s.service.StreamTransactions(call.Context(), feed) {",
			"	var held *ledger.Event\n	for item, err := range s.service.StreamTransactions(call.Context(), " +
				"feed) {\n" +
				"		if " + one + " {\n			held = &item\n			continue\n		}\n" +
				"		if held != nil && item.Sequence > held.Sequence+1 {\n			_ = " +
				"call.Send(eventToProto(*held))\n			held = " +
				"nil\n		}\n",
			"ledger/grpc", "event 5000 of the feed comes after event 5001",
		},
		{
			"event-corrupt", "workload/ledger/bind/convert.go",
			"	t := e.Transaction\n	return &gen.TransactionEvent{",
			"	t := e.Transaction\n	if e.Sequence%10_000 == 5_000 {\n		t.Amount++\n	}\n	return " +
				"&gen.TransactionEvent{",
			"ledger/raw-tcp", "event 5000 of the feed is wrong",
		},
		{
			"due-in-milliseconds", "workload/ledger/bind/convert.go",
			"DueUnixNano: e.Due,", "DueUnixNano: e.Due / 1_000_000 * 1_000_000,",
			"ledger/websocket", "from when the rate has it",
		},
	}
}
