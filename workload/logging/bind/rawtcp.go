package bind

import (
	"wirelab"
	"wirelab/wire/exchange"
	"wirelab/wire/rawtcp"
	"wirelab/workload/logging"
)

// RawTCP carries the logger over no protocol: the schema's messages with a
// length in front. What it costs is what any protocol here must cost.
func RawTCP() wirelab.Binding[logging.Service] {
	return wirelab.Binding[logging.Service]{
		Protocol: rawtcp.Protocol(),
		Style:    wirelab.Idiomatic,
		Servers:  []wirelab.Server[logging.Service]{exchange.ServerOf("net", rawtcp.Serve, exchangeHandlers)},
		Clients:  []wirelab.Dialer[logging.Service]{exchange.DialerOf("net", rawtcp.Dial, newExchangeStub)},
		Raw:      rawtcp.Raw(rawHoles(), newExchangeStub),
	}
}
