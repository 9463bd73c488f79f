package bind

import (
	"wirelab"
	"wirelab/wire/rawtcp"
	"wirelab/workload/routeguide"
)

// RawTCP carries the route guide over no protocol: published messages with a
// length in front. What it costs is what any protocol here must cost.
func RawTCP() wirelab.Binding[routeguide.Service] {
	holes := rawHoles()
	holes["RecordRoute"] = "it sends a message for each point, and a raw driver one for each call"
	return wirelab.Binding[routeguide.Service]{
		Protocol: rawtcp.Protocol(),
		Style:    wirelab.Idiomatic,
		Servers:  []wirelab.Server[routeguide.Service]{exchangeServer("net", rawtcp.Serve)},
		Clients:  []wirelab.Dialer[routeguide.Service]{exchangeDialer("net", rawtcp.Dial)},
		Raw:      rawtcp.Raw(holes, newExchangeStub),
	}
}
