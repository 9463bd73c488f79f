package bind

import (
	"wirelab"
	"wirelab/wire/exchange"
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
		Servers:  []wirelab.Server[routeguide.Service]{exchange.ServerOf("net", rawtcp.Serve, exchangeHandlers)},
		Clients:  []wirelab.Dialer[routeguide.Service]{exchange.DialerOf("net", rawtcp.Dial, newExchangeStub)},
		Raw:      rawtcp.Raw(holes, newExchangeStub),
	}
}
