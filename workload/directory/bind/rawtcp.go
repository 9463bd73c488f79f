package bind

import (
	"wirelab"
	"wirelab/wire/exchange"
	"wirelab/wire/rawtcp"
	"wirelab/workload/directory"
)

// RawTCP carries the directory over no protocol: the schema's messages with a
// length in front. What it costs is what any protocol here must cost.
func RawTCP() wirelab.Binding[directory.Service] {
	return wirelab.Binding[directory.Service]{
		Protocol: rawtcp.Protocol(),
		Style:    wirelab.Idiomatic,
		Servers:  []wirelab.Server[directory.Service]{exchange.ServerOf("net", rawtcp.Serve, exchangeHandlers)},
		Clients:  []wirelab.Dialer[directory.Service]{exchange.DialerOf("net", rawtcp.Dial, newExchangeStub)},
		Raw:      rawtcp.Raw(rawHoles(), newExchangeStub),
	}
}
