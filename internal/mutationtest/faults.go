package main

import "slices"

// faults are of different kinds and in different wires. Where a change of the
// source makes one impossible to put in, put it where it would be now.
func faults() []Fault {
	return slices.Concat(answerFaults(), wireFaults(), lifeFaults(), directoryFaults(), feedFaults())
}

// answerFaults make a cell answer wrongly.
func answerFaults() []Fault {
	return []Fault{
		{
			"swapped-coordinates", "workload/routeguide/bind/convert.go",
			"return routeguide.Point{Latitude: p.GetLatitude(), Longitude: p.GetLongitude()}",
			"return routeguide.Point{Latitude: p.GetLongitude(), Longitude: p.GetLatitude()}",
			"raw-tcp", "wrong item 0 is {Name: Location:{Latitude:",
		},
		{
			"wrong-code", "wire/grpc/error.go",
			"status.Conflict:          codes.AlreadyExists,",
			"status.Conflict:          codes.NotFound,",
			"grpc", "wrong code not_found",
		},
		{
			"lost-message", "wire/grpc/error.go",
			"return grpcstatus.Error(code, public.Message)",
			`return grpcstatus.Error(code, "")`,
			"grpc", `wrong message ""`,
		},
		{
			"dropped-item", "workload/routeguide/bind/grpc_gen.go",
			"		if err := call.Send(featureToProto(item)); err != nil {",
			"		if item.Name == \"\" {\n			continue\n		}\n		if err := " +
				"call.Send(featureToProto(item)); err != nil {",
			"grpc", "items lost",
		},
		{
			"error-as-end", "wire/stream/stream.go",
			"				if !errors.Is(err, io.EOF) {",
			"				if false {",
			"grpc", "takes a failed call as complete",
		},
		{
			"hole-passes", "workload/routeguide/bind/graphql.go",
			"		Holes: map[string]string{",
			"		Holes: map[string]string{\n			\"ListFeatures\": \"it is said to be too hard for " +
				"GraphQL\",",
			"graphql", "declared hole starts to pass: remove it",
		},
	}
}

// wireFaults make a cell travel otherwise than it declares.
func wireFaults() []Fault {
	return []Fault{
		{
			"connection-per-call", "wire/httprpc/dial.go",
			"DisableCompression:  true,",
			"DisableCompression:  true,\n		DisableKeepAlives: true,",
			"http1-json", "connections for 16 calls, 16 at once; 4 allowed",
		},
		{
			"connection-limit-ignored", "wire/httprpc/dial.go",
			"MaxConnsPerHost:     connections,",
			"",
			"http2-proto", "1 allowed (multiplexed true)",
		},
		{
			"other-protocol", "wire/http2/http2.go",
			"	p.SetUnencryptedHTTP2(!secure)",
			"	p.SetHTTP1(!secure)",
			"h2c-proto", "no HTTP/2 preface",
		},
		{
			"tls-1.2", "wire/httprpc/serve.go",
			"MinVersion: tls.VersionTLS13}",
			"MinVersion: tls.VersionTLS12}",
			"http1-tls-proto", "accepts TLS 1.2",
		},
	}
}

// lifeFaults make a cell behave badly.
func lifeFaults() []Fault {
	return []Fault{
		{
			"deadline-lost", "wire/httprpc/client.go",
			"r.Header[headerTimeout] = []string{strconv.FormatInt(min(millis, timeoutMax), 10)}",
			"_ = strconv.FormatInt(min(millis, timeoutMax), 10)",
			"h2c-json", "deadline is lost on the way",
		},
		{
			"cancel-ignored", "wire/exchange/server.go",
			"	ctx := s.ctx\n",
			"	ctx := context.WithoutCancel(s.ctx)\n",
			"raw-tcp", "cancel does not stop the work",
		},
		{
			"panic-kills", "wire/grpc/server.go",
			"		if p := recover(); p != nil {\n			reply, err = nil, Encode",
			"		if p := any(nil); p != nil {\n			reply, err = nil, Encode",
			"grpc", "injected by the conformance suite: a server must recover from this",
		},
		{
			"leak", "wire/connect/client.go",
			"	c := &Client{",
			"	go func() { select {} }()\n	c := &Client{",
			"connect", "leaks a goroutine",
		},
		{
			"cut-at-stop", "wire/httprpc/serve.go",
			"		_ = server.Shutdown(drain)",
			"		_, _ = drain, server.Close()",
			"h2c-json", "a stop cuts a call in flight",
		},
		{
			"reader-left-unnoticed", "workload/routeguide/bind/grpc_gen.go",
			"		defer cancel() // tells grpc-go that the rest will not be read",
			"		_ = cancel",
			"grpc", "the service's stream went on for",
		},
	}
}

// directoryFaults are those that the person directory shows: a service of
// nested messages that stores, with data sets of three sizes.
func directoryFaults() []Fault {
	return []Fault{
		{
			"street-as-city", "workload/directory/bind/convert.go",
			"Street: p.Location.Street, City: p.Location.City,",
			"Street: p.Location.Street, City: p.Location.Street,",
			"directory/raw-tcp", "must arrive in the field it was sent in (mt-M11)",
		},
		{
			"create-echoes", "workload/directory/bind/netrpc_gen.go",
			"return netrpc.Answer(req, rep, s.service.CreatePerson)",
			"return netrpc.Answer(req, rep, func(_ context.Context, p directory.Person) (directory.Person, error) { " +
				"return " +
				"p, nil })",
			"directory/netrpc", "what one call creates others see (mt-D01)",
		},
		{
			"empty-picture-lost", "workload/directory/bind/convert.go",
			"if picture != nil {",
			`if picture.GetLarge() != "" {`,
			"directory/connect", "edge value CreatePerson empty-picture",
		},
		{
			"text-unchecked", "workload/directory/bind/stub_gen.go",
			"if err := person.Validate(); err != nil {",
			"if err := error(nil); err != nil {",
			"directory/grpc", "edge value CreatePerson broken-",
		},
		{
			"small-messages", "wire/exchange/message.go",
			"const MessageLimit = wirelab.MessageLimit",
			"const MessageLimit = wirelab.MessageLimit / 8",
			"directory/websocket", "data 10000, ListPersons",
		},
		{
			"link-turned", "workload/directory/bind/convert.go",
			"return &gen.PersonLink{P1: personToProto(l.P1), P2: personToProto(l.P2)}",
			"return &gen.PersonLink{P1: personToProto(l.P2), P2: personToProto(l.P1)}",
			"directory/connect-http1", "GetPersonLinks {\"ID\":\"4\"}: wrong item 0",
		},
	}
}
