package report

import (
	"fmt"

	"wirelab/lab/result"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/metric"
)

// Libraries says, for each cell that was measured with both drivers, what the server costs and what the client
// library adds: "grpc: the server costs 25.1 µs of CPU per request; grpc-go adds 11.4 µs (95 % CI 11.1 to 11.8) to
// the 6.8 µs of the raw driver".
func Libraries(r *result.Result, l *claim.LoadAnalysis) []string {
	var said []string
	for _, lib := range l.Libraries {
		server := "the server's cost is unknown: " + lib.Server.Why
		if unit := UnitFor(metric.Time, lib.Server.Value); lib.Server.Known {
			server = fmt.Sprintf("the server costs %s of CPU per request%s", With(lib.Server, unit),
				bounds(lib.Server, unit))
		}
		client := "what " + r.ClientName(lib.Client) + " adds is unknown: " + lib.Adds.Why
		if lib.Adds.Known && lib.Driver.Known {
			client = adds(r.ClientName(lib.Client), lib)
		}
		said = append(said, r.ArmName(lib.Client)+": "+server+"; "+client+".")
	}
	return said
}

// adds says how much more a library costs than the raw driver.
func adds(library string, lib claim.Library) string {
	unit := UnitFor(metric.Time, lib.Driver.Value)
	own := With(lib.Driver, unit)
	switch e := lib.Adds; {
	case e.Low > 0:
		return fmt.Sprintf("%s adds %s%s to the %s of the raw driver", library, With(e, unit), bounds(e, unit), own)
	case e.High < 0:
		return fmt.Sprintf("%s takes less than the %s of the raw driver", library, own)
	}
	return fmt.Sprintf("%s adds nothing that shows to the %s of the raw driver", library, own)
}
