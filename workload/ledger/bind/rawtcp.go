package bind

import (
	"wirelab"
	"wirelab/wire/exchange"
	"wirelab/wire/rawtcp"
	"wirelab/workload/ledger"
)

// RawTCP carries the ledger over no protocol: the schema's messages with a
// length in front. What it costs is what any protocol here must cost.
func RawTCP() wirelab.Binding[ledger.Service] {
	return wirelab.Binding[ledger.Service]{
		Protocol: rawtcp.Protocol(),
		Style:    wirelab.Idiomatic,
		Servers:  []wirelab.Server[ledger.Service]{exchange.ServerOf("net", rawtcp.Serve, exchangeHandlers)},
		Clients:  []wirelab.Dialer[ledger.Service]{exchange.DialerOf("net", rawtcp.Dial, newExchangeStub)},
		Raw:      rawtcp.Raw(rawHoles(), newExchangeStub),
	}
}
